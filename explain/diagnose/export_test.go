package diagnose

import (
	"slices"

	"github.com/ingero-io/ingero/event"
)

// Spent is how a thread's time is attributed by all findings, reported or not.
type Spent struct {
	event.Thread
	Wall    uint64            // ns, from its first call to its last
	Lost    map[string]uint64 // ns by kind of cause; Unknown is unexplained
	GPUBusy uint64            // ns of Lost in which the GPU is said to be busy
	GPUIdle uint64            // ns of the thread's time in which the GPU is said to be idle between launches
	Episode uint64            // episodes with more claimed time than they took
	Op      uint64            // operations with more claimed time than they took
}

// Spend finds what each thread of a recording lost.
func Spend(in *Input) []Spent {
	ev := newEvidence(in)
	ev.find()
	by := map[event.Thread]*Spent{}
	var list []Spent
	for _, t := range ev.subjects {
		by[t.Thread] = &Spent{Thread: t.Thread, Wall: t.wall(), Lost: map[string]uint64{}}
		if t.launching != nil {
			by[t.Thread].GPUIdle = t.launching.room
		}
	}
	episodes, ops := map[threadOp]map[uint64]uint64{}, map[threadOp]uint64{}
	took := map[threadOp]map[uint64]uint64{}
	for _, f := range ev.all {
		v := by[f.sub.Thread]
		v.Lost[f.kind] += f.lost
		if f.cause.gpuSide {
			v.GPUBusy += f.lost
		}
		for _, cl := range f.claims {
			k := threadOp{f.sub.Thread, cl.acc.Op}
			if cl.acc.Call != nil && !cl.beside {
				ops[k] += cl.lost
			} else {
				k.op = 0
			}
			if cl.aggregate {
				continue
			}
			if episodes[k] == nil {
				episodes[k], took[k] = map[uint64]uint64{}, map[uint64]uint64{}
			}
			episodes[k][cl.acc.Start] += cl.lost
			took[k][cl.acc.Start] = max(took[k][cl.acc.Start], cl.acc.Duration)
		}
	}
	for k, list := range episodes {
		for at, lost := range list {
			if lost > took[k][at] {
				by[k.Thread].Episode++
			}
		}
	}
	for k, lost := range ops {
		if st := ev.calls.stats[k]; st != nil && lost > st.SumNS {
			by[k.Thread].Op++
		}
	}
	for _, t := range ev.subjects {
		list = append(list, *by[t.Thread])
	}
	return list
}

// ParseCPUs reads a list of CPUs.
var ParseCPUs = parseCPUs

// Variable is up to which duration waits are usual because their work varies.
var Variable = variable

// Feed gives the lost time of each episode of a recording to the causes as if it were all of one class, for each class.
// It says which kinds took some without declaring the class, and of which class nobody took all.
func Feed(in *Input) (wrong []string) {
	ev := newEvidence(in)
	for _, t := range ev.subjects {
		t.usual, t.usualCollective = ev.usualWaits(t), ev.ranks.usualCollectives(t)
		t.recaptures = ev.calls.recaptured(t)
		for i := range t.episodes {
			for _, c := range event.Classes() {
				a := ev.account(t, &t.episodes[i])
				a.become(c)
				wrong = append(wrong, ev.feed(a, c)...)
			}
		}
	}
	return wrong
}

func (ev *evidence) feed(a *account, c event.Class) (wrong []string) {
	for _, cause := range causes {
		if cause.claimEpisode == nil {
			continue
		}
		before := a.taken[c]
		a.may = cause.takes
		claims := cause.claimEpisode(ev, a)
		if !cause.takes.has(c) && (a.taken[c] != before || len(claims) > 0) {
			wrong = append(wrong, cause.kind+" took "+c.String())
		}
	}
	if a.left[c] > 0 {
		wrong = append(wrong, "nobody took "+c.String())
	}
	return wrong
}

// become turns all lost time of an account into time of one class.
func (a *account) become(c event.Class) {
	var lost uint64
	for i := range a.left {
		lost += a.left[i]
		a.left[i] = 0
	}
	a.left[c] = min(lost, a.Duration)
	e := *a.Episode
	e.Ledger, e.Rows, e.Reclaims = event.Ledger{}, nil, nil
	if c < event.NumClasses {
		e.Ledger.NS[c] = e.Duration
	}
	for _, o := range a.Rows {
		if o.Class == c {
			e.Rows = append(e.Rows, o)
		}
	}
	a.Episode, a.split = &e, e.Split()
	a.open = slices.DeleteFunc(a.open, func(o *event.OffCPU) bool { return o.Class != c })
}

// OffBetween adds a time in which a thread was off the CPU between calls, as recordings by an earlier Ingero have it.
func (in *Input) OffBetween(t event.Thread, from, to uint64) {
	in.between = append(in.between, interval{t, from, to})
}
