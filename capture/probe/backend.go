package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe/call"
	"github.com/ingero-io/ingero/capture/probe/kernel"
)

// Backend is a kernel mechanism for attaching to functions.
type Backend string

// The back ends, best first. They record the same. They differ in the required kernel
// and in the cost of a call that is not recorded.
const (
	BackendSession Backend = "session" // one program at entry and return; kernel 6.13
	BackendMulti   Backend = "multi"   // one link for all functions; kernel 6.6
	BackendPerf    Backend = "perf"    // a perf event per function; kernel 5.15
)

// Backends lists them in the order they are tried.
var Backends = []Backend{BackendSession, BackendMulti, BackendPerf}

// BackendEnv is the environment variable that forces a back end.
const BackendEnv = "INGERO_BACKEND"

// ParseBackend checks a back end's name; the empty name means "best that works".
func ParseBackend(name string) (Backend, error) {
	b := Backend(name)
	if name == "" || slices.Contains(Backends, b) {
		return b, nil
	}
	return "", fmt.Errorf("unknown back end %q: %s may be session, multi or perf", name, BackendEnv)
}

// variant is one loadable form of a back end.
type variant struct {
	backend  Backend
	abi      string // for people, where a back end has several forms
	load     func() (*ebpf.CollectionSpec, error)
	programs []string // to keep of the object
	attach   func(c *ebpf.Collection, file *os.File, t []Target, pid int) (closers, error)
	empty    func(c *ebpf.Collection, file *os.File, t []Target, pid int) (closers, error)
}

func attachSession(program string) func(*ebpf.Collection, *os.File, []Target, int) (closers, error) {
	return func(c *ebpf.Collection, file *os.File, t []Target, pid int) (closers, error) {
		l, err := multiLink(file, c.Programs[program], t, pid, attachUprobeSession, 0)
		return closers{l}, err
	}
}

// attachMulti links the return first: a return without an entry is recognised and
// counted, but an entry without a return would look like a call that hangs.
func attachMulti(enter, ret string) func(*ebpf.Collection, *os.File, []Target, int) (closers, error) {
	return func(c *ebpf.Collection, file *os.File, t []Target, pid int) (closers, error) {
		r, err := multiLink(file, c.Programs[ret], t, pid, attachUprobeMulti, multiReturn)
		if err != nil {
			return nil, err
		}
		e, err := multiLink(file, c.Programs[enter], t, pid, attachUprobeMulti, 0)
		if err != nil {
			_ = r() // the error to tell is why attaching failed
			return nil, err
		}
		return closers{e, r}, nil
	}
}

func attachPerf(enter, ret string) func(*ebpf.Collection, *os.File, []Target, int) (closers, error) {
	return func(c *ebpf.Collection, file *os.File, t []Target, pid int) (closers, error) {
		r, err := perfLinks(file, c.Programs[ret], t, pid, true)
		if err != nil {
			return nil, err
		}
		e, err := perfLinks(file, c.Programs[enter], t, pid, false)
		if err != nil {
			_ = r.Close() // the error to tell is why attaching failed
			return nil, err
		}
		return append(e, r...), nil
	}
}

var variants = []variant{
	{
		BackendSession, "kernel 6.13", call.LoadSession,
		[]string{"session_call", "session_empty"},
		attachSession("session_call"), attachSession("session_empty"),
	},
	{
		BackendSession, "kernel 7.0", call.LoadSessionCtx,
		[]string{"session_call", "session_empty"},
		attachSession("session_call"), attachSession("session_empty"),
	},
	{
		BackendMulti, "", call.LoadCall,
		[]string{"multi_enter", "multi_return", "multi_empty", "multi_empty_return"},
		attachMulti("multi_enter", "multi_return"), attachMulti("multi_empty", "multi_empty_return"),
	},
	{
		BackendPerf, "", call.LoadCall,
		[]string{"perf_enter", "perf_return", "perf_empty"},
		attachPerf("perf_enter", "perf_return"), attachPerf("perf_empty", "perf_empty"),
	},
}

// spec loads the variant's object with only its own programs.
func (v *variant) spec() (*ebpf.CollectionSpec, error) {
	s, err := v.load()
	if err != nil {
		return nil, fmt.Errorf("read %s object: %w", v.backend, err)
	}
	for name := range s.Programs {
		if !slices.Contains(v.programs, name) {
			delete(s.Programs, name)
		}
	}
	return s, nil
}

// trial attaches the variant's empty program to an instruction of this process that
// never runs again: its entry point. In another process of the same file it does run,
// and not as a function: the kernel would replace the number of arguments, which is
// where a return address would be. So the program is attached to this process alone.
func (v *variant) trial(c *ebpf.Collection) error {
	const self = "/proc/self/exe"
	file, err := limit.Open(self)
	if err != nil {
		return fmt.Errorf("read own executable: %w", err)
	}
	defer file.Close()
	f, err := elffile.Read(file)
	if err != nil {
		return fmt.Errorf("read own executable: %w", err)
	}
	off, ok := fileOffset(f, f.Entry)
	if !ok {
		return errors.New("own executable has no entry point")
	}
	l, err := v.empty(c, file, []Target{{Symbol: "entry", Offset: off}}, os.Getpid())
	if err != nil {
		return err
	}
	return l.Close()
}

// choose loads the first back end that works here, or the one asked for.
func choose(want Backend, prepare func(*ebpf.CollectionSpec) error, opts ebpf.CollectionOptions) (*variant,
	*ebpf.Collection, error,
) {
	var tried []string
	for i := range variants {
		v := &variants[i]
		if want != "" && v.backend != want {
			continue
		}
		c, err := v.open(prepare, opts)
		if err == nil {
			return v, c, nil
		}
		tried = append(tried, fmt.Sprintf("%s: %v", v.backend, err))
		if errors.Is(err, ErrPermission) {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("%w: no way to attach to functions works on this kernel (%s)", ErrUnsupported,
		strings.Join(tried, "; "))
}

func (v *variant) open(prepare func(*ebpf.CollectionSpec) error, opts ebpf.CollectionOptions) (*ebpf.Collection,
	error,
) {
	s, err := v.spec()
	if err != nil {
		return nil, err
	}
	if err := prepare(s); err != nil {
		return nil, err
	}
	c, err := kernel.Load(s, opts)
	if err != nil {
		return nil, explain(fmt.Errorf("load: %w", err))
	}
	if err := v.trial(c); err != nil {
		c.Close()
		return nil, explain(fmt.Errorf("attach: %w", err))
	}
	return c, nil
}
