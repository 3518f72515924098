package doctor

import (
	"errors"
	"os"
	"strings"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/coverage"
)

// Hint is what to do about an error of tracing, for a program whose command line was this; empty if the error says it
// already.
func Hint(err error, commandLine []string) string {
	switch {
	case errors.Is(err, probe.ErrPermission):
		if why := refused(Why(Options{})); why != "" {
			return why
		}
		self, e := os.Executable()
		if e != nil {
			self = "ingero"
		}
		return "next: sudo " + strings.Join(commandLine, " ") +
			"\n  or, once, to trace without root as a member of a group: " + GiveCapabilities(self)
	case errors.Is(err, probe.ErrLockedDown):
		return "next: boot with lockdown=integrity, or without secure boot"
	case errors.Is(err, probe.ErrNoBTF), errors.Is(err, probe.ErrUnsupported):
		return "next: ingero check"
	}
	return ""
}

// refused says why even a privileged process may not trace, empty if only privileges are missing.
func refused(reasons []coverage.Reason) string {
	for _, r := range reasons {
		if r.What == Everything && r.Code != "capabilities" {
			return "why: " + r.Why + "\nnext: " + r.Next + "\n  details: ingero check"
		}
	}
	return ""
}
