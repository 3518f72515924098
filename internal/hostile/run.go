package hostile

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Programs are what is attacked.
type Programs struct {
	Bin   string    // folder of ingero, ingero-fleet, ingero-fleet-collector and ingero-echo
	Tree  string    // of the sources: recordings, and the collector's configuration
	Dir   string    // an empty folder for what they write
	Short bool      // without attacks that take seconds
	Log   io.Writer // gets a line for each attack; nil: nothing
}

// Target is a running program, or one that is started for each attack.
type Target struct {
	Name string
	// MaxMiB is the most memory that the program and its children may have resident at a time, in MiB.
	MaxMiB int
	// Long says that a short run leaves it out: a test tries the same.
	Long bool
	// Kernel says that it needs root and a kernel with BTF.
	Kernel bool
	// Start returns what tries the attacks. It is closed after the last one.
	Start func(ctx context.Context, p *Programs) (Trier, error)
}

// Trier tries attacks on one target.
type Trier interface {
	Attacks() ([]Attack, error)
	// Try tries one. It returns what the program said.
	Try(ctx context.Context, a Attack) (Outcome, error)
	// Healthy asks what others ask, and returns an error if they are not answered.
	Healthy(ctx context.Context) error
	// Close ends the program. It returns the most memory that it had resident, in bytes, and what it printed.
	Close() (peak uint64, printed string, err error)
}

// measured is a Trier that also knows what single attacks cost.
type measured interface {
	// Peak returns the most memory that the program had resident since it was last asked for, in bytes.
	Peak() uint64
}

// Outcome is what a program did with an attack.
type Outcome struct {
	Refused bool
	Said    string // what an answer or a terminal got
	// Text says that Said is for a terminal, so that no control character but ends of lines and tabs may be in it.
	Text bool
}

// Result is the result of one target.
type Result struct {
	Target   string
	Tried    int
	Refused  int
	Took     time.Duration
	PeakMiB  int
	MaxMiB   int
	Failures []string
	Skipped  string // why nothing was tried
}

// OK reports whether nothing came through.
func (r *Result) OK() bool { return len(r.Failures) == 0 }

// tryTime is how long a program may take for one attack; questions in SQL end after 5 s by themselves.
const tryTime = 90 * time.Second

// Run tries all attacks on a target.
func Run(ctx context.Context, t Target, p *Programs) Result {
	r := Result{Target: t.Name, MaxMiB: t.MaxMiB}
	fail := func(format string, args ...any) { r.Failures = append(r.Failures, fmt.Sprintf(format, args...)) }
	began := time.Now()
	trier, err := t.Start(ctx, p)
	if err != nil {
		fail("it does not start: %v", err)
		return r
	}
	list, err := trier.Attacks()
	if err != nil {
		fail("%v", err)
	}
	if p.Short {
		list = short(list)
	}
	var most costly
	for _, a := range list {
		if ctx.Err() != nil {
			fail("%v", ctx.Err())
			break
		}
		r.Tried++
		since := time.Now()
		why, refused, dead := try(ctx, trier, a)
		most.note(p.Log, trier, a, refused, time.Since(since))
		if refused {
			r.Refused++
		}
		if why != "" {
			fail("%s: %s", a.Name, why)
		}
		if dead {
			break
		}
	}
	peak, printed, err := trier.Close()
	if err != nil {
		fail("at its end: %v", err)
	}
	if why := judgePrinted(printed); why != "" {
		fail("%s", why)
	}
	r.PeakMiB, r.Took = int(peak>>20), time.Since(began)
	if r.Tried == 0 {
		fail("there was nothing to try")
	}
	if r.PeakMiB > t.MaxMiB {
		fail("it took %d MiB, more than %d%s", r.PeakMiB, t.MaxMiB, most.costText())
	}
	return r
}

// costly is the attack with which a program took the most memory.
type costly struct {
	name string
	peak uint64
}

// note notes what an attack cost, and logs it.
func (c *costly) note(log io.Writer, trier Trier, a Attack, refused bool, took time.Duration) {
	memory := ""
	if m, ok := trier.(measured); ok {
		peak := m.Peak()
		if peak > c.peak {
			c.name, c.peak = a.Name, peak
		}
		memory = fmt.Sprintf(", %d MiB", peak>>20)
	}
	if log == nil {
		return
	}
	outcome := "answered"
	if refused {
		outcome = "refused"
	}
	fmt.Fprintf(log, "  %s: %s, %.1f s%s\n", a.Name, outcome, took.Seconds(), memory)
}

func (c *costly) costText() string {
	if c.name == "" {
		return ""
	}
	return fmt.Sprintf("; most of it with %q", c.name)
}

// try tries one attack. why says what is wrong; dead that the program does not answer any more.
func try(ctx context.Context, trier Trier, a Attack) (why string, refused, dead bool) {
	ctx, stop := context.WithTimeout(ctx, tryTime)
	defer stop()
	o, err := trier.Try(ctx, a)
	if err == nil {
		why = judge(a, o)
	} else {
		why = err.Error()
	}
	if err := trier.Healthy(ctx); err != nil {
		return strings.Trim(why+"; afterwards others are not answered: "+err.Error(), "; "), o.Refused, true
	}
	return why, o.Refused, false
}

// judge says what is wrong with what a program did with an attack, empty if nothing.
func judge(a Attack, o Outcome) string {
	switch {
	case a.Refused && !o.Refused:
		return "it was not refused: " + shown(o.Said)
	case strings.Contains(o.Said, Secret):
		return "it gave away what nobody may read: " + shown(o.Said)
	case crashed(o.Said):
		return "it crashed: " + shown(o.Said)
	}
	if c, ok := control(o.Said); o.Text && ok {
		return fmt.Sprintf("a terminal gets %q: %s", c, shown(o.Said))
	}
	return ""
}

// judgePrinted says what is wrong with what a program printed while it was attacked.
func judgePrinted(s string) string {
	switch {
	case crashed(s):
		return "it printed a crash: " + shown(s)
	case strings.Contains(s, Secret):
		return "it printed what nobody may read"
	}
	if c, ok := control(s); ok {
		return fmt.Sprintf("it printed %q", c)
	}
	return ""
}

// crashed reports whether a text has what Go prints when a program panics.
func crashed(s string) bool {
	return strings.Contains(s, "\ngoroutine ") && (strings.Contains(s, "panic:") || strings.Contains(s, "fatal error:"))
}

// control is the first character of a text that must not reach a terminal.
func control(s string) (rune, bool) {
	for _, c := range s {
		switch {
		case c == '\n' || c == '\t':
		case c < ' ', c >= 0x7f && c < 0xa0, c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069:
			return c, true
		}
	}
	return 0, false
}

// shown is the beginning of a text, for a message.
func shown(s string) string {
	const most = 300
	if len(s) > most {
		return fmt.Sprintf("%q … (%d bytes)", s[:most], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// Print writes a table of results, and what failed.
func Print(w io.Writer, list []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "target\tattacks\trefused\tseconds\tpeak MiB\tbound\t")
	tried, refused := 0, 0
	for _, r := range list {
		verdict := "held"
		switch {
		case r.Skipped != "":
			verdict = "SKIPPED: " + r.Skipped
		case !r.OK():
			verdict = fmt.Sprintf("%d FAILED", len(r.Failures))
		}
		tried, refused = tried+r.Tried, refused+r.Refused
		fmt.Fprintf(t, "%s\t%d\t%d\t%.0f\t%d\t%d\t%s\n", r.Target, r.Tried, r.Refused, r.Took.Seconds(), r.PeakMiB, r.MaxMiB,
			verdict)
	}
	fmt.Fprintf(t, "all\t%d\t%d\t\t\t\t\n", tried, refused)
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range list {
		for _, f := range r.Failures {
			if _, err := fmt.Fprintf(w, "%s: %s\n", r.Target, f); err != nil {
				return err
			}
		}
	}
	return nil
}
