package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/capture/probe"
)

// trialRing is the size of the event ring of a trial.
const trialRing = 1 << 20

// open loads the programs with a back end and says which it was.
func open(b probe.Backend, ledger bool) (probe.Backend, error) {
	t, err := probe.Open(probe.Options{Backend: b, RingBytes: trialRing, NoLedger: !ledger})
	if err != nil {
		return "", err
	}
	b = t.Backend()
	return b, t.Close()
}

// backend tries to load the programs, and finds out why no better back end was chosen.
func (e *exam) backend() Check {
	c := Check{Name: "backend", Status: OK}
	got, err := open(e.opts.Backend, true)
	if err != nil {
		c.Status, c.Detail, c.Remedy = Problem, err.Error(), remedy(err)
		for _, r := range e.reasons {
			if r.What == Everything {
				c.Detail, c.Remedy = r.Why+" ("+err.Error()+")", r.Next
				break
			}
		}
		return c
	}
	e.r.Backend = string(got)
	c.Detail = fmt.Sprintf("functions are attached to by %s", got)
	if e.opts.Backend != "" {
		c.Detail += fmt.Sprintf(", because %s asks for it", probe.BackendEnv)
		return c
	}
	var why []string
	for _, b := range probe.Backends {
		if b == got {
			break
		}
		if _, err := open(b, false); err != nil {
			why = append(why, fmt.Sprintf("%s does not work here (%s)", b, reason(err)))
		}
	}
	if len(why) > 0 {
		c.Detail += "; " + strings.Join(why, "; ")
	}
	return c
}

// reason is the innermost error of an error's chain: the kernel's own answer.
func reason(err error) string {
	parts := strings.Split(strings.TrimSuffix(err.Error(), ")"), ": ")
	return strings.Join(parts[max(len(parts)-2, 0):], ": ")
}

func remedy(err error) string {
	switch {
	case errors.Is(err, probe.ErrPermission):
		return "run it with sudo; in a container, add --privileged or the capabilities BPF, PERFMON and SYS_PTRACE"
	case errors.Is(err, probe.ErrNoBTF):
		return "use a kernel built with CONFIG_DEBUG_INFO_BTF=y"
	case errors.Is(err, probe.ErrUnsupported):
		return fmt.Sprintf("use Linux %d.%d or later with CONFIG_UPROBE_EVENTS=y", probe.MinMajor, probe.MinMinor)
	}
	return "report this message, with the kernel's version"
}

func (e *exam) watcher() Check {
	w, err := probe.NewMapWatcher()
	if err == nil {
		w.Close()
		return Check{Name: "watcher", Status: OK, Detail: "programs and libraries that are loaded later are noticed at once"}
	}
	c := Check{
		Name: "watcher", Status: Warning,
		Detail: fmt.Sprintf("programs and libraries that are loaded later are noticed only once a second: %v", err),
		Remedy: remedy(err),
	}
	for _, r := range e.reasons {
		if r.What == lateLibraries {
			c.Detail, c.Remedy = r.Why+": programs and libraries that are loaded later are noticed only once a second", r.Next
		}
	}
	return c
}
