package simulate

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

// answerTime is the time from a push to its answer.
const answerTime = 50 * time.Millisecond

// work generates the own work of ranks.
type work interface {
	// begin begins a step of all ranks.
	begin(t float64)
	// own returns a rank's own work in the step, in seconds, and the amount of work.
	own(rank int, t float64) (seconds, amount float64)
	// took returns the length of a step from the longest own work of a rank.
	took(longest float64) float64
}

// world is a job, its agents and its fleets.
type world struct {
	job    *Job
	random *rand.Rand
	source work
	ranks  []*health.Rank
	clocks []time.Duration // skew, by rank
	nodes  []node          // in the order in which they push in a round
	fleets []*health.Fleet
	peers  *peers // nil: agents do not choose
	fleet  int    // the fleet that agents push to
	moves  []float64
	push   health.Push
	own    []float64 // in the present step
	amount []float64
	free   []float64 // end time of each free rank's last step
	seq    uint64

	every    time.Duration
	tick     time.Duration // begin of the nodes' present round
	turn     int           // index of the node that pushes next
	polls    []poll
	restarts []float64
	out      []health.Verdict
	report   func(health.Verdict)
}

type node struct {
	id     uint64
	ranks  []int
	spread time.Duration
	cohort uint64
	size   int
}

type poll struct {
	at   time.Duration
	node int
	left int
}

const cohort = 0x9e3779b97f4a7c15

// start is the begin of virtual time: not 0, as in reality.
const start = 1000 * time.Second

func at(seconds float64) time.Duration { return start + time.Duration(seconds*float64(time.Second)) }

// runJob simulates a job, calls report with each verdict, and returns the length in hours.
func runJob(j *Job, random *rand.Rand, report func(health.Verdict)) float64 {
	stages := make([]int, j.Ranks)
	for i := range stages {
		stages[i] = i % max(j.Stages, 1)
	}
	w := newWorld(j, newSource(j, random), stages, random, report)
	t := 0.0
	for t < j.Length {
		if j.Free {
			t = w.slice(t)
		} else {
			t = w.step(t)
		}
	}
	return t / 3600
}

// newWorld returns the agents and fleets of a job. stages has the stage of each rank.
func newWorld(j *Job, source work, stages []int, random *rand.Rand, report func(health.Verdict)) *world {
	w := &world{job: j, random: random, source: source, report: report, every: j.Net.Every}
	if w.every == 0 {
		w.every = health.PushEvery
	}
	members := map[int][]int{}
	for i, s := range stages {
		members[s] = append(members[s], i)
		w.ranks = append(w.ranks, health.NewRank(health.RankOptions{
			Cohort: cohort + uint64(s), Rank: int32(i), Free: j.Free,
		}))
	}
	for _, s := range slices.Sorted(maps.Keys(members)) {
		perNode := cmp.Or(j.Net.NodeRanks, 8)
		if len(members[s]) < 3*perNode {
			perNode = 1
		}
		for c := range slices.Chunk(members[s], perNode) {
			w.nodes = append(w.nodes, node{
				id: uint64(len(w.nodes) + 1), ranks: c, cohort: cohort + uint64(s), size: len(members[s]),
			})
		}
	}
	w.clocks = make([]time.Duration, j.Ranks)
	w.own, w.amount = make([]float64, j.Ranks), make([]float64, j.Ranks)
	w.free = make([]float64, j.Ranks)
	for range max(2, j.Net.Fleets) {
		w.fleets = append(w.fleets, health.NewFleet())
	}
	if j.Net.Fleets > 0 {
		w.peers = newPeers(j.Net.Fleets, len(w.nodes), cohort)
	}
	w.tick = start + time.Duration(random.Float64()*float64(w.every))
	for i := range w.nodes {
		n := &w.nodes[i]
		spread := min(health.PushSpread, w.every/4)
		if j.Net.Unaligned {
			spread = w.every
		}
		n.spread = time.Duration(random.Float64() * float64(spread))
		skew := seconds(j.Skew * (random.Float64() - 0.5) * 2)
		for _, r := range n.ranks {
			w.clocks[r] = skew
		}
	}
	slices.SortFunc(w.nodes, func(a, b node) int { return int(a.spread - b.spread) })
	w.restarts, w.moves = j.Net.Restarts, j.Net.Moves
	return w
}

// here reports whether a rank runs at t.
func (w *world) here(i int, t float64) bool {
	leaves, ok := w.job.Leaves[i]
	joins, late := w.job.Joins[i]
	return (!ok || t < leaves) && (!late || t >= joins)
}

// step runs one step of all ranks that begins at t, and returns its end.
func (w *world) step(t float64) float64 {
	w.source.begin(t)
	most := 0.0
	for i := range w.ranks {
		w.own[i], w.amount[i] = 0, 0
		if w.here(i, t) {
			w.own[i], w.amount[i] = w.source.own(i, t)
			most = max(most, w.own[i])
		}
	}
	took := w.source.took(most)
	end := at(t + took)
	w.network(end)
	for i, own := range w.own {
		if own > 0 {
			w.give(i, w.seq, end, own+w.job.Leak*(most-own), took, w.amount[i])
		}
	}
	w.seq++
	return t + took
}

// slice runs free ranks for a while from t on.
func (w *world) slice(t float64) float64 {
	const length = 0.25
	w.network(at(t + length))
	for i := range w.ranks {
		for w.free[i] < t+length {
			if i == 0 {
				w.source.begin(w.free[i])
			}
			own, amount := w.source.own(i, w.free[i])
			w.free[i] += own
			w.give(i, 0, at(w.free[i])+w.clocks[i], own, own, amount)
		}
	}
	return t + length
}

func (w *world) give(i int, seq uint64, end time.Duration, own, took, amount float64) {
	s := health.Step{
		Seq: seq, End: end, Own: seconds(own), Wait: seconds(took - own), Measured: health.MeasuredDevice,
	}
	if w.job.Known {
		s.Work = amount
	}
	w.ranks[i].Step(s)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// network runs all pushes, polls and sweeps before end.
func (w *world) network(end time.Duration) {
	for {
		due := w.tick + w.nodes[w.turn].spread
		k := -1
		for i := range w.polls {
			if w.polls[i].at < due && (k < 0 || w.polls[i].at < w.polls[k].at) {
				k = i
			}
		}
		switch {
		case k >= 0 && w.polls[k].at < end:
			p := w.polls[k]
			w.polls = slices.Delete(w.polls, k, k+1)
			w.ask(p)
		case k >= 0 || due >= end:
			return
		default:
			w.pushNode(w.turn, due)
			if w.turn == len(w.nodes)/2 {
				w.sweep(due)
			}
			if w.turn++; w.turn == len(w.nodes) {
				w.turn = 0
				w.tick += w.every
			}
		}
	}
}

// sweep lets the fleets sweep their cohorts, in the middle of a round.
func (w *world) sweep(now time.Duration) {
	if w.peers != nil {
		w.kill(now)
	}
	for i, f := range w.fleets {
		if w.peers == nil || !w.peers.dead || i != w.peers.first {
			w.out = f.Sweep(now, w.out)
		}
	}
	w.flush()
	if len(w.moves) > 0 && now >= at(w.moves[0]) {
		w.moves = w.moves[1:]
		w.fleet = 1 - w.fleet
	}
	if len(w.restarts) > 0 && now >= at(w.restarts[0]) {
		w.restarts = w.restarts[1:]
		for i := range w.fleets {
			w.fleets[i] = health.NewFleet()
		}
	}
}

func (w *world) flush() {
	for _, v := range w.out {
		v.At -= start
		v.Since -= start
		w.report(v)
	}
	w.out = w.out[:0]
}

func (w *world) down(now time.Duration) bool {
	return now >= at(w.job.Net.Down[0]) && now < at(w.job.Net.Down[1])
}

// pushNode sends a node's push, and takes in the answer.
func (w *world) pushNode(i int, now time.Duration) {
	n := &w.nodes[i]
	p := &w.push
	first := w.ranks[n.ranks[0]]
	ranks := p.Ranks[:0]
	*p = health.Push{
		Cohort: n.cohort, Node: n.id, Sent: now + w.clocks[n.ranks[0]], Size: int32(n.size),
		Width: first.Width(), Merge: first.Merge(), Free: w.job.Free, Echo: first.Echo(),
		Reference: first.Reference(),
	}
	t := (now - start).Seconds()
	for _, r := range n.ranks {
		gone := !w.here(r, t)
		if gone && w.job.Exit && w.job.Leaves[r] > 0 {
			w.ranks[r].Exit()
		} else if gone {
			continue
		}
		if w.ranks[r].Interval() == 0 { // no step yet
			continue
		}
		ranks = append(ranks, health.RankPush{})
		w.ranks[r].Push(&ranks[len(ranks)-1])
	}
	p.Ranks = ranks
	if len(ranks) == 0 {
		return
	}
	var answer *health.Reply
	if w.peers != nil {
		answer = w.pushAmong(i, now, p)
	} else if !w.down(now) && (w.job.Net.Lost == 0 || w.random.Float64() >= w.job.Net.Lost) {
		answer = w.fleets[w.fleet].Push(now, p)
	}
	w.takeAnswer(i, now, answer)
	w.askLater(poll{at: now + health.PollEvery, node: i, left: int(w.every/health.PollEvery) - 1})
}

// askLater schedules a poll if a rank of the node is a suspect that polls.
func (w *world) askLater(p poll) {
	if w.job.Net.NoPoll || p.left <= 0 {
		return
	}
	for _, r := range w.nodes[p.node].ranks {
		if w.ranks[r].Polls() {
			w.polls = append(w.polls, p)
			return
		}
	}
}

func (w *world) ask(p poll) {
	if !w.down(p.at) {
		n := &w.nodes[p.node]
		var answer *health.Reply
		for _, r := range n.ranks {
			if w.ranks[r].Polls() {
				answer = w.pollOf(p.node, p.at, w.ranks[r].Poll(n.id))
			}
		}
		w.takeAnswer(p.node, p.at, answer)
	}
	p.at, p.left = p.at+health.PollEvery, p.left-1
	w.askLater(p)
}

func (w *world) pollOf(node int, now time.Duration, q health.Poll) *health.Reply {
	if w.peers != nil {
		return w.pollAmong(node, now, q)
	}
	return w.fleets[w.fleet].Poll(now, q)
}

func (w *world) takeAnswer(i int, now time.Duration, answer *health.Reply) {
	t := (now - start).Seconds()
	for _, r := range w.nodes[i].ranks {
		switch {
		case !w.here(r, t) && !w.job.Exit:
		case answer != nil:
			w.out = w.ranks[r].Take(now+answerTime, answer, w.out)
		default:
			w.out = w.ranks[r].Tick(now+answerTime, w.out)
		}
	}
	w.flush()
}
