package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/explain/report"
)

func TestAChangeIsOneSentence(t *testing.T) {
	const ms, second = 1_000_000, uint64(time.Second)
	base := report.Change{
		Process: "trainer", AtNS: 50_000 * second, BeforeNS: 10 * ms, AfterNS: 14 * ms, Kind: report.ChangeLevel,
		Parts: []report.ChangePart{{NS: 4 * ms, What: "disk in each cudaMemcpy: 4 ms instead of none"}},
	}
	for name, tc := range map[string]struct {
		edit func(*report.Change)
		want string
	}{
		"level": {
			func(*report.Change) {},
			"trainer: from 13:53:20 UTC on a step takes 14 ms instead of 10 ms, 40 % longer, most of it: " +
				"disk in each cudaMemcpy: 4 ms instead of none",
		},
		"once": {
			func(c *report.Change) {
				c.Kind, c.UntilNS, c.AfterNS, c.Parts = report.ChangeOnce, c.AtNS+9*second, 20*ms, nil
			},
			"trainer: from 13:53:20 to 13:53:29 UTC only, a step took 20 ms instead of 10 ms, 2.0 times as long",
		},
		"drift": {
			func(c *report.Change) { c.Kind, c.PerMinuteNS, c.Parts = report.ChangeDrift, 2*ms, nil },
			"trainer: since 13:53:20 UTC a step grows by 2 ms a minute: 14 ms at the end instead of 10 ms, 40 % longer",
		},
		"a rate": {
			func(c *report.Change) { c.Of, c.Parts = "cudaStreamSynchronize", nil },
			"trainer: from 13:53:20 UTC on cudaStreamSynchronize is called every 14 ms instead of every 10 ms, 40 % longer",
		},
		"more work": {
			func(c *report.Change) { c.MoreWork = "30 instead of 20 launches" },
			"trainer: from 13:53:20 UTC on a step takes 14 ms instead of 10 ms, 40 % longer; it is more work, " +
				"not necessarily slower: 30 instead of 20 launches",
		},
		"partly more work": {
			func(c *report.Change) { c.PartWork, c.Parts = "22 instead of 20 launches", nil },
			"trainer: from 13:53:20 UTC on a step takes 14 ms instead of 10 ms, 40 % longer; part of it is more work: " +
				"22 instead of 20 launches",
		},
	} {
		c := base
		tc.edit(&c)
		if got := c.Sentence(); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tc.want)
		}
	}
}

func TestWhenTimeWasLostIsDated(t *testing.T) {
	const second = uint64(time.Second)
	at := 50_000 * second
	for want, p := range map[string]report.Pattern{
		"mostly 13:53:20 to 13:53:31": {Kind: "burst", FromNS: at, ToNS: at + 11*second},
		"once, 13:53:20 to 13:53:23":  {Kind: "once", FromNS: at, ToNS: at + 3*second},
		"once, at 13:53:20":           {Kind: "once", FromNS: at, ToNS: at + second/2},
		"all the time":                {Kind: "constant", FromNS: at},
	} {
		p.Timeline = make([]float64, 40)
		c := report.Chain{Severity: "HIGH", LostNS: 1, Pattern: &p}
		var b strings.Builder
		if err := report.WriteChain(&b, &c, report.TextOptions{}); err != nil || !strings.Contains(b.String(), want+"\n") {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
}

func TestAChangeThatIsTheVerdictComesFirst(t *testing.T) {
	r := &report.Report{
		Verdict: "trainer: slower (and 1 more)", Changes: []report.Change{{Summary: "trainer: slower"}},
		Chains: []report.Chain{{Severity: "LOW", Summary: "trainer lost time", Effect: report.Effect{Process: "trainer"}}},
	}
	for _, first := range []bool{true, false} {
		if !first {
			r.Verdict = "trainer lost time"
		}
		var b strings.Builder
		if err := report.WriteText(&b, r, report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if at, chain := strings.Index(b.String(), "[changed]"), strings.Index(b.String(), "[LOW]"); at < chain != first {
			t.Errorf("verdict %q:\n%s", r.Verdict, b.String())
		}
	}
}
