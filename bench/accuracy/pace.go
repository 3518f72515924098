package accuracy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/cudastub"
)

// pace is how fast a real program ran, as it measured itself: how much a fault slowed it down, and
// whether it waited for its data before the fault.
type pace struct {
	ends  []int64 // when each step ended, ns, CLOCK_MONOTONIC
	waits []int64 // how long each step of PyTorch waited for its batch, ns; 0: it was ready
	after int     // steps before a fault of PyTorch's own
	since int64   // when another fault began, ns; 0: there was none

	atOnce bool // the fault is there from the start
}

// Which runs are judged. Noise of a machine is some percent of a step, so a fault that costs less
// cannot be recognised. A loop that waits for its data for longer than that is a case of a slow
// data worker, whatever fault was intended.
const (
	leastCost = 0.03 // least share of the steps' time that a fault costs
	mostInput = 0.03 // largest share of waiting for data in the steps' time without the fault
	warmUp    = 20   // steps that are left out: they allocate, load kernels and fill the loader's queue
)

// parseLlama reads the output of harness.c: one JSON object.
func (p *pace) parseLlama(printed []byte, t *cudastub.Truth) error {
	own := struct {
		*cudastub.Truth
		Ends  []int64
		Since int64
	}{Truth: t}
	if err := json.Unmarshal(printed, &own); err != nil {
		return fmt.Errorf("%w: %.200q", err, printed)
	}
	p.ends, p.since = own.Ends, max(p.since, own.Since)
	return nil
}

// parseTorch reads the output of faulty.py and ranks.py: a JSON line for each strike of the fault,
// and one at the end; first of all, one with the peer of the first process, if it has one.
func (p *pace) parseTorch(printed []byte, t *cudastub.Truth) error {
	ended := false
	for line := range bytes.Lines(printed) {
		var l struct {
			What        string
			Begin, End  int64
			PID, TID    int
			Steps       int64
			Fault       string
			After       int
			Ends, Waits []int64
			Dispatchers []int
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("%w: %.200q", err, line)
		}
		switch l.What {
		case "fault":
			t.FaultCount++
			t.InjectedNS += l.End - l.Begin
			t.CulpritPID, t.CulpritTID = l.PID, l.TID
		case "peer":
			t.PeerPID, t.PeerTID = l.PID, l.TID
		case "end":
			t.PID, t.TID, t.Steps, t.Fault, ended = l.PID, l.PID, l.Steps, l.Fault, true
			t.Dispatchers = l.Dispatchers
			p.ends, p.waits, p.after = l.Ends, l.Waits, l.After
		}
	}
	if !ended {
		return errors.New("the program did not come to its end")
	}
	return nil
}

// steadyFile is the file that faulty.py and ranks.py make in their folder after a third of their
// steps.
const steadyFile = "steady"

// settle waits until a third of PyTorch's steps are done: import and loading take long on a busy
// machine. It is false if ctx was done first.
func settle(ctx context.Context, dir string) bool {
	for {
		if _, err := os.Stat(filepath.Join(dir, steadyFile)); err == nil {
			return true
		}
		if !sleep(ctx, 0.05) {
			return false
		}
	}
}

// monotonic is the time of CLOCK_MONOTONIC, ns.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // which does not fail
	return t.Nano()
}

// split is the number of steps before the fault began.
func (p *pace) split() int {
	if p.since == 0 {
		return min(p.after, len(p.ends))
	}
	n, _ := slices.BinarySearch(p.ends, p.since)
	return n
}

// step is the mean duration of the steps in [from, to), ns, and the part of it that waited for
// data; 0 if there are none.
func (p *pace) step(from, to int) (took, waited float64) {
	if to <= from || from < 1 {
		return 0, 0
	}
	if p.waits != nil {
		for _, w := range p.waits[from:to] {
			waited += float64(w)
		}
	}
	n := float64(to - from)
	return float64(p.ends[to-1]-p.ends[from-1]) / n, waited / n
}

// cost returns the share of the steps' time that the fault took, and the share of waiting for data
// without the fault (input). They are 0 if there are no steps to compare.
func (p *pace) cost() (cost, input float64) {
	at := p.split()
	before, waited := p.step(warmUp, at)
	with, _ := p.step(max(at, warmUp), len(p.ends))
	if before > 0 {
		input = waited / before
	}
	if before > 0 && with > 0 {
		cost = 1 - before/with
	}
	return cost, input
}

// notJudged says why the run is not an example of the intended fault; empty if it is one.
func (p *pace) notJudged(control bool) string {
	cost, input := p.cost()
	switch {
	case input > mostInput:
		return fmt.Sprintf("without a fault the loop waited %.0f %% of its time for data", 100*input)
	case !control && !p.atOnce && cost < leastCost:
		return fmt.Sprintf("the fault cost %.1f %% of the steps' time", 100*cost)
	}
	return ""
}
