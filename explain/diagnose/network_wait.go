package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

var causeNetworkWait = cause{
	kind:         event.CauseNetworkWait,
	takes:        blocked,
	claimEpisode: claimNetwork,
	inLink:       answerLink,
	place:        func(_ *evidence, f *finding) (string, bool) { return endpointOf(f.claims), true },
	sharedRoot:   func(_ *evidence, f *finding) string { return f.kind + " " + endpointOf(f.claims) },
	counts:       []event.Class{event.Network},
	describe:     describeNetwork,
}

// claimNetwork takes waits for the answer of a peer that cannot be followed, because it is on
// another machine or was not recorded.
func claimNetwork(_ *evidence, a *account) []claim { return a.through(event.CauseNetworkWait) }

// serving reports whether a wait is a server's wait for a client: the thread is at the accepting
// end of the connection.
func serving(o *event.OffCPU) bool {
	serves, known := o.Socket.Serves()
	return o.Class == event.Network && known && serves
}

// asked reports whether a wait is a client's wait for an answer: the thread is at the connecting
// end.
func asked(o *event.OffCPU) bool {
	serves, known := o.Socket.Serves()
	return o.Class == event.Network && known && !serves
}

// beyond returns the longest wait in a link that was for a server's answer, nil if there is none, and
// the time of all such waits, ns. Who caused them is not known.
func beyond(l *ledger.Link) (*event.OffCPU, uint64) {
	var most *event.OffCPU
	var all, longest uint64
	for _, o := range l.Rows {
		if !asked(o) {
			continue
		}
		b, e := ledger.Blocked(o)
		v := overlap(b, e, l.From, l.To)
		all += v
		if v > longest {
			most, longest = o, v
		}
	}
	return most, all
}

// answerLink returns how long a thread waited for a server's answer, ns.
func answerLink(_ *evidence, l *ledger.Link) uint64 {
	_, ns := beyond(l)
	return ns
}

// endpointOf returns the server that most time was lost to.
func endpointOf(claims claimList) string {
	by := map[string]uint64{}
	for _, cl := range claims {
		o := cl.row
		if l := cl.last(); len(cl.chain) > 1 {
			if w, _ := beyond(l); w != nil {
				o = w
			}
		}
		by[o.Socket.Endpoint()] += cl.lost
	}
	var ends []string
	for e := range by {
		ends = append(ends, e)
	}
	slices.SortFunc(ends, func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	return ends[0]
}

func describeNetwork(ev *evidence, f *finding, c *report.Chain) {
	end := endpointOf(f.claims)
	t := f.root()
	on := "an answer from " + end
	if f.worst.through() && t != f.sub.Thread {
		who := f.about(ev)
		c.Summary = fmt.Sprintf("%s lost %s waiting for %s waited for an answer from %s", f.process(ev), f.pct(),
			f.worst.behind(who), end)
		c.Path = f.path(ev, "blocked", on)
	} else {
		c.Summary = fmt.Sprintf("%s lost %s waiting for answers from %s %s", f.process(ev), f.pct(), end, f.claims.place())
		c.Path = []report.Step{f.step(ev, "blocked", on, f.lost)}
	}
	c.Cause.Detail = fmt.Sprintf("%s connected to %s and waited for what it sent, up to %s at a time; what the other "+
		"side did is not in this recording", ev.procs.name(t.PID, ""), end, span(f.stall))
	if ev.describeHeldBack(f, c, end) {
		return
	}
	again := ev.host.trouble(f.claims, end)
	if again.opening() {
		ev.describeOpening(f, c, end, &again)
		return
	}
	c.Cause.Detail += again.words()
	c.Path = append(c.Path, report.Step{Layer: "NET", Process: end, State: "unknown", On: "its answer", NS: f.explained})
	c.Recommendations = []string{
		fmt.Sprintf("ask ahead: request what the next step needs from %s while this one runs, in another thread than the "+
			"one that launches the GPU's work", end),
		fmt.Sprintf("see where the time goes: ss -ti dst %s (round trip, retransmissions), and the load of the other side",
			end),
	}
	if again.explains() {
		c.Summary = strings.Replace(c.Summary, " waiting for answers from "+end,
			" waiting for "+end+", to which packets were lost,", 1)
		c.Recommendations = []string{
			fmt.Sprintf("find out where packets to %s are lost: ethtool -S (errors, drops) and ip -s link here, the switches "+
				"in between, mtr -T -P PORT HOST", end),
			c.Recommendations[0],
		}
	}
}

// describeHeldBack describes a finding whose time was mostly lost while TCP held back what had been written; it reports
// whether it is one.
func (ev *evidence) describeHeldBack(f *finding, c *report.Chain, end string) bool {
	var waits int
	var ns uint64
	var other *event.OffCPU
	for _, cl := range f.claims {
		if held := f.sub.waits[cl.row].held; held != nil {
			waits, ns, other = waits+1, ns+cl.lost, held
		}
	}
	if ns <= f.lost/2 {
		return false
	}
	who := ev.procs.name(other.PID, other.Comm)
	c.Summary = fmt.Sprintf("%s lost %s waiting for answers of %s, whose questions TCP held back",
		f.process(ev), f.pct(), who)
	c.Cause.Detail = fmt.Sprintf("in %d of these %d waits, up to %s each, both ends of the TCP connection to %s waited "+
		"to receive, and then %s (pid %d) got what had been written before: Nagle's algorithm holds back a small segment "+
		"until the one before it is acknowledged, and that acknowledgement is delayed", waits, len(f.claims),
		span(f.stall), end, who, other.PID)
	c.Path = append(c.Path, report.Step{
		Layer: "HOST", Process: who, PID: other.PID, TID: other.TID, Thread: printable(other.Comm), State: "blocked",
		On: "the rest of the question", NS: ns,
	})
	c.Recommendations = []string{
		fmt.Sprintf("set TCP_NODELAY on the connection to %s, at the end that writes", end),
		"write a message at once: one write or writev of header and body, or MSG_MORE for the first part",
	}
	return true
}

// trouble is what went wrong on the connections to a server while a finding's thread waited for it.
type trouble struct {
	waits, hit  int    // waits, and waits during which a segment was retransmitted
	lost, again uint64 // lost time in ns: in all waits, and in those hit by a retransmission
	segments    int
	opened      int // of those, segments that open a connection
	failed      int
	errno       int32
	spikes      int
	worst       uint64 // longest round trip, ns
}

// tcpSynSent is the state of a connection whose first segment has not been answered (include/net/tcp_states.h).
const tcpSynSent = 2

// opening reports whether most of the time was lost because connections were not accepted at once.
func (t *trouble) opening() bool { return t.explains() && 2*t.opened > t.segments }

// describeOpening describes waits for connections whose first segment had to be sent again: it was lost, or who
// listens had no room in its queue.
func (ev *evidence) describeOpening(f *finding, c *report.Chain, end string, again *trouble) {
	who := end
	listener := ev.listener(end)
	if listener.PID != 0 {
		who = fmt.Sprintf("%s (pid %d)", ev.procs.name(listener.PID, ""), listener.PID)
	}
	c.Summary = fmt.Sprintf("%s lost %s waiting for %s to accept its connections %s", f.process(ev), f.pct(), who,
		f.claims.place())
	c.Cause.Detail = fmt.Sprintf("%s connected to %s; the segment that opens a connection (SYN) was sent again %s, in %d "+
		"of these %d waits, the first time after a second: it was lost, or the queue of connections that are to be accepted "+
		"(the backlog of listen) was full; %s", ev.procs.name(f.root().PID, ""), end, plural(again.opened, "time", "times"),
		again.hit, again.waits, ev.accepts(listener))
	step := report.Step{Layer: "NET", Process: end, State: "unknown", On: "accepting a connection", NS: f.explained}
	if listener.PID != 0 {
		step.Process, step.PID, step.TID = ev.procs.name(listener.PID, ""), listener.PID, listener.TID
	}
	c.Path = append(c.Path, step)
	c.Recommendations = []string{
		fmt.Sprintf("keep connections to %s open instead of opening one each time", end),
		fmt.Sprintf("let %s accept sooner, or raise its backlog (listen(2), net.core.somaxconn): nstat -az "+
			"TcpExtListenOverflows TcpExtListenDrops", who),
	}
}

// listener is the thread on this machine that accepts connections at an address; zero if none was recorded.
func (ev *evidence) listener(end string) event.Thread {
	for i := range ev.in.OffCPU {
		o := &ev.in.OffCPU[i]
		if o.Class == event.Network && o.Socket.RemotePort == 0 && o.Socket.LocalPort != 0 && o.Syscall >= 0 &&
			ev.host.accepting[o.Syscall] && strings.HasSuffix(end, fmt.Sprintf(":%d", o.Socket.LocalPort)) &&
			strings.HasPrefix(end, "127.") {
			return o.Thread
		}
	}
	return event.Thread{}
}

// accepts says who accepts the connections, in words that follow a semicolon.
func (ev *evidence) accepts(t event.Thread) string {
	if t.PID == 0 {
		return "who accepts them is not in this recording"
	}
	return fmt.Sprintf("%s (pid %d) on this machine accepts them", ev.procs.name(t.PID, ""), t.PID)
}

// explains reports whether most of the time was lost in waits during which a segment was
// retransmitted.
func (t *trouble) explains() bool { return t.again > t.lost/2 }

func (hs *hostState) trouble(claims claimList, end string) trouble {
	var t trouble
	var events []*event.Connection
	for i := range hs.in.Connections {
		if c := &hs.in.Connections[i]; c.Endpoint() == end {
			events = append(events, c)
		}
	}
	seen := map[*event.Connection]bool{}
	for _, cl := range claims {
		o := cl.row
		if len(cl.chain) > 0 {
			if w, _ := beyond(cl.last()); w != nil {
				o = w
			}
		}
		if o == nil {
			continue
		}
		t.waits++
		t.lost += cl.lost
		hit := false
		for _, c := range events {
			// A spike is reported when the wait is over, a failed connect when it began.
			if c.At+c.Duration < o.Start || c.At > o.Start+o.Duration+spikeLate || o.Socket.LocalPort != 0 && c.LocalPort != 0 &&
				o.Socket.LocalPort != c.LocalPort {
				continue
			}
			hit = hit || c.Op == event.OpTCPRetransmit
			if seen[c] {
				continue
			}
			seen[c] = true
			switch c.Op {
			case event.OpTCPRetransmit:
				t.segments++
				if c.State == tcpSynSent {
					t.opened++
				}
			case event.OpTCPConnectFailed:
				t.failed++
				t.errno = c.Error
			case event.OpTCPSpike:
				t.spikes++
				t.worst = max(t.worst, c.Duration)
			}
		}
		if hit {
			t.hit++
			t.again += cl.lost
		}
	}
	return t
}

// spikeLate is how long after a wait a spike of its round-trip time may be reported, ns.
const spikeLate = 1_000_000

func (t *trouble) words() string {
	w := ""
	if t.segments > 0 {
		w += fmt.Sprintf("; %s had to be sent again, in %d of these %d waits: what was sent, or its confirmation, was "+
			"lost on the way",
			plural(t.segments, "segment", "segments"), t.hit, t.waits)
	}
	if t.spikes > 0 {
		w += fmt.Sprintf("; %s took up to %s, against less than a third of that at best",
			plural(t.spikes, "round trip", "round trips"), span(t.worst))
	}
	if t.failed > 0 {
		w += fmt.Sprintf("; %s failed", plural(t.failed, "connection", "connections"))
		if t.errno != 0 {
			w += ": " + syscall.Errno(t.errno).Error()
		}
	}
	return w
}
