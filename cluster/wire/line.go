package wire

import (
	"fmt"
	"strings"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

// Line describes an event in a sentence, with the time since when the condition holds. who names the rank's process,
// and may be empty.
func (e *Event) Line(who string) string {
	since := ""
	if e.Since != nil && !e.Resolved {
		since = ", since " + e.Since.Local().Format(time.TimeOnly)
	}
	return e.line(who, since)
}

// Summary returns the same sentence without the time.
func (e *Event) Summary(who string) string { return e.line(who, "") }

func (e *Event) line(who, since string) string {
	var b strings.Builder
	if e.Rank != nil {
		fmt.Fprintf(&b, "rank %d", *e.Rank)
		if e.WorldSize > 0 {
			fmt.Fprintf(&b, " of %d", e.WorldSize)
		}
	} else {
		b.WriteString("all ranks together")
	}
	if e.Node != "" {
		fmt.Fprintf(&b, " on %s", e.Node)
	}
	if who != "" {
		fmt.Fprintf(&b, " (%s)", who)
	}
	b.WriteString(e.says())
	b.WriteString(since)
	if c := e.Cause; c != nil {
		fmt.Fprintf(&b, "; cause: %s", c.Kind)
		if c.MS > 0 {
			fmt.Fprintf(&b, ", %.3g ms a step", c.MS)
		}
		if c.Culprit != "" {
			fmt.Fprintf(&b, ", %s", c.Culprit)
		}
	}
	return b.String()
}

// says describes what happened to the rank or cohort.
func (e *Event) says() string {
	amount := ""
	if e.OwnMS != nil && e.PeerMS != nil {
		than := "peers'"
		if e.Type == health.KindSlowVsSelf.String() {
			than = "its own before"
		}
		amount = fmt.Sprintf(": %.4g ms of own work a step, %s %.4g ms", *e.OwnMS, than, *e.PeerMS)
		if e.Excess != nil {
			amount += fmt.Sprintf(" (%+.0f %%)", 100**e.Excess)
		}
	}
	switch e.Type {
	case EventStraggler:
		return " is slower than its peers" + amount
	case EventResolved:
		return " is no longer slower than its peers"
	case health.KindSlowVsSelf.String():
		if e.Resolved {
			return " is no longer slower than it was"
		}
		return " is slower than it was" + amount
	case health.KindGone.String():
		return " has ended while its peers run"
	case health.KindMissing.String():
		return ": nothing comes from its node any more"
	case health.KindHang.String():
		return ": others wait for it in a collective that does not end"
	}
	return ": " + strings.ReplaceAll(e.Type, "_", " ")
}
