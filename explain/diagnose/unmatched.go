package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/event"
)

// matchRunning finds out which operations belong together in communicators that were created before
// the recording began.
func (ev *evidence) matchRunning() {
	ev.ranks.collectives = ev.in.Collectives
	old := func(c event.Collective) bool { return c.Ret == 0 && c.CommID == 0 && !c.PairWise() }
	if !slices.ContainsFunc(ev.ranks.collectives, old) {
		return
	}
	ev.ranks.collectives = slices.Clone(ev.ranks.collectives)
	ev.ranks.unmatched = collective.Infer(ev.ranks.collectives, ev.procs.ranks())
}

// ranks returns the ranks of the processes: from their environment, or from NCCL's answers to them.
func (ps *processes) ranks() map[uint32]collective.Rank {
	list := map[uint32]collective.Rank{}
	for pid, p := range ps.byPID {
		list[pid] = collective.Rank{Rank: p.Rank, Ranks: max(p.WorldSize, 0)}
	}
	for i := range ps.in.Calls {
		c := &ps.in.Calls[i]
		asks := c.Op == event.OpUserRank || c.Op == event.OpCommCount
		r, ok := list[c.PID]
		if !asks || c.Ret != 0 {
			continue
		}
		if !ok {
			r.Rank = -1
		}
		if c.Op == event.OpUserRank && r.Rank < 0 {
			r.Rank = int(c.Args[1])
		}
		if c.Op == event.OpCommCount && r.Ranks == 0 {
			r.Ranks = int(c.Args[1])
		}
		list[c.PID] = r
	}
	return list
}

// notes say what was recorded but cannot be judged.
func (ev *evidence) notes() []string {
	return slices.Concat(ev.in.pauseNotes(), ev.host.stolenNote(), ev.unmatchedNote(), ev.countedNote())
}

func (ev *evidence) unmatchedNote() []string {
	if ev.ranks.unmatched == 0 {
		return nil
	}
	var who []string
	for i := range ev.ranks.collectives {
		c := &ev.ranks.collectives[i]
		if name := ev.procs.who(event.Thread{PID: c.PID, TID: c.PID}, 0); c.Ret == 0 && c.CommID == 0 && !c.PairWise() &&
			!slices.Contains(who, name) {
			who = append(who, name)
		}
	}
	slices.Sort(who)
	if n := len(who) - maxVictims; n > 0 {
		who = append(who[:maxVictims], fmt.Sprintf("%d more", n))
	}
	return []string{fmt.Sprintf("whether ranks were late is not known for %d collective operations of %s: their "+
		"communicators are older than the recording, and RANK and WORLD_SIZE are not set, or the operations of too few "+
		"ranks are here; start the tracer before the job, or with ingero trace -- COMMAND",
		ev.ranks.unmatched, strings.Join(who, ", "))}
}
