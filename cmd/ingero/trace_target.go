package main

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/doctor"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/tui"
)

// choose selects the view. A traced command has standard output to itself. With --json, its output
// goes to standard error instead.
func (t *tracing) choose(f *traceFlags) error {
	out, log := t.c.out, t.c.err
	started := len(t.opts.Command) > 0
	live := !f.asJSON && !f.quiet && !started && t.c.isTerminal(out) && t.c.isTerminal(t.c.in)
	if len(f.fleet.Nodes) > 0 && !live {
		return usage("--nodes is for the view on a terminal, and this run has none; ask them with: ingero explain --nodes %s",
			strings.Join(f.fleet.Nodes, ","))
	}
	t.opts.Stdin, t.opts.Stdout, t.opts.Stderr = t.c.in, t.c.out, t.c.err
	switch {
	case f.asJSON:
		if started {
			t.opts.Stdout = t.c.err
		}
		t.view = newJSONView(out, t.opts.Record)
	case started:
		t.view = t.lines(t.c.err, "starting "+quote(t.opts.Command[0]), f)
	case live:
		nodes, why, err := t.others(&f.fleet)
		if err != nil {
			return err
		}
		buffered := new(lockedBuffer) // the view uses the whole screen
		o := tui.Options{Colour: t.c.colour(out), Node: t.node, Nodes: nodes, NoNodes: why}
		if t.file != nil {
			o.Path = t.file.path
		}
		t.view = &liveView{c: t.c, log: buffered, opts: o, ready: make(chan struct{})}
		log = buffered
	default:
		t.view = t.lines(out, noProcess, f)
	}
	t.log, t.opts.Logger = log, t.c.logger(log)
	return nil
}

// whose converts the flags that say whose processes are traced. Who may trace only his own traces those of all that
// is his without a flag.
func (t *tracing) whose(f *traceFlags) (err error) {
	o := &t.opts
	fs := proc.New("")
	for _, p := range f.pids {
		if _, err := fs.Comm(int(p), int(p)); err != nil {
			return fmt.Errorf("there is no process %d; it may have ended. List the CUDA processes with: ingero check", p)
		}
		if t.c.scope == privilege.Own && !fs.Readable(int(p)) {
			return fmt.Errorf("process %d is not yours: %s", p, doctor.OnlyOwn())
		}
		o.PIDs = append(o.PIDs, int(p))
	}
	if f.user != "" {
		if o.UID, err = lookupUser(f.user); err != nil {
			return err
		}
	}
	if t.c.scope != privilege.Own {
		return nil
	}
	if f.user != "" && o.UID != os.Getuid() {
		return fmt.Errorf("the processes of user %s are not yours: %s", f.user, doctor.OnlyOwn())
	}
	if len(o.PIDs) == 0 && len(o.Command) == 0 {
		o.UID = os.Getuid()
	}
	return nil
}

// lookupUser finds a user by name or number.
func lookupUser(s string) (int, error) {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return int(n), nil
	}
	u, err := user.Lookup(s)
	if err != nil {
		return 0, fmt.Errorf("there is no user %q on this machine; pass the number (id -u %s)", s, s)
	}
	return strconv.Atoi(u.Uid)
}

// watchEnd ends a run when all its processes have ended.
type watchEnd struct {
	fs   proc.FS
	pids []int
	end  func()
}

// Batch implements agent.Sink.
func (w *watchEnd) Batch(*store.Batch) {}

// Second implements agent.Sink.
func (w *watchEnd) Second(*agent.Status) {
	w.pids = slices.DeleteFunc(w.pids, func(pid int) bool {
		_, err := w.fs.Comm(pid, pid)
		return err != nil
	})
	if len(w.pids) == 0 {
		w.end()
	}
}
