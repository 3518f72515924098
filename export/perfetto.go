package export

import (
	"context"
	"fmt"
	"io"

	"github.com/ingero-io/ingero/event"
)

// Perfetto writes a timeline in Perfetto's own format: a track for each process and thread, with
// calls and, below, what the thread waited for while it was off the CPU; arrows from wakers to the
// threads they woke, and from the last launch to the call that waits for it; counters; findings as
// marks. Times are Unix nanoseconds.
func Perfetto(ctx context.Context, w io.Writer, src Source, o Options) error {
	p := &perfetto{w: newPacketWriter(w), nextTrack: firstTrack}
	p.begins()
	if err := draw(ctx, src, o, p); err != nil {
		return err
	}
	return p.close()
}

// perfetto is a canvas.
type perfetto struct {
	w         *packetWriter
	nextTrack uint64 // for tracks numbered in order of creation
	number    uint64 // of the machine, from 1 if there are several

	// Of the machine:
	node                           uint64 // its track, if there are several
	categories, names, args, texts interned
	counters                       map[counterKey]uint64
	bands                          map[counterKey]uint64 // tracks of labels
	lanes                          map[uint64]bool       // declared
	marked                         uint64                // the track of findings
	clocked                        bool

	packet, event, news, part message // reused
}

type counterKey struct {
	pid  uint32
	name string
}

// Tracks of processes and threads are numbered by their ids, which have at most 22 bits in Linux,
// and by machine; others in order of creation.
const (
	firstTrack   = 1
	processTrack = 1 << 62
	threadTrack  = 2 << 62
	laneShift    = 60
	machineShift = 44
	maxMachines  = 1<<(laneShift-machineShift) - 1
	idBits       = 22
	idMask       = 1<<idBits - 1
)

func (p *perfetto) processUUID(pid uint32) uint64 {
	return processTrack | p.number<<machineShift | uint64(pid&idMask)
}

func (p *perfetto) threadUUID(t event.Thread, l lane) uint64 {
	thread := uint64(t.PID&idMask)<<idBits | uint64(t.TID&idMask)
	return threadTrack | uint64(l)<<laneShift | p.number<<machineShift | thread
}

// begins begins a sequence of packets: strings are written once in each.
func (p *perfetto) begins() {
	p.categories = interned{field: internedCategories, ids: map[string]uint64{}}
	p.names = interned{field: internedNames, ids: map[string]uint64{}}
	p.args = interned{field: internedArgNames, ids: map[string]uint64{}}
	p.texts = interned{field: internedArgTexts, ids: map[string]uint64{}}
	p.counters, p.bands, p.lanes = map[counterKey]uint64{}, map[counterKey]uint64{}, map[uint64]bool{}
	p.node, p.marked, p.clocked = 0, 0, false
	p.starts()
	p.packet.uint(packetFlags, stateCleared)
	p.w.write(p.packet)
}

// starts starts a packet of the sequence, and of the machine if there are several: Perfetto uses
// this to separate their processes.
func (p *perfetto) starts() {
	p.packet = p.packet[:0]
	p.packet.uint(packetSequence, 1+p.number)
	if p.number != 0 {
		p.packet.uint(packetMachine, p.number)
	}
}

func (p *perfetto) machine(name string) {
	if p.number++; p.number > maxMachines {
		p.w.fail(fmt.Errorf("more than %d machines do not fit into one timeline; export recordings before they are merged",
			maxMachines))
		return
	}
	p.begins()
	p.node = p.track("node "+name, 0)
}

// track declares a track without a thread, below another one unless that is 0.
func (p *perfetto) track(name string, parent uint64) uint64 {
	id := p.nextTrack
	p.nextTrack++
	var d message
	d.uint(trackUUID, id)
	d.text(trackName, name)
	if parent != 0 {
		d.uint(trackParent, parent)
	}
	p.describe(d)
	return id
}

func (p *perfetto) failed() error { return p.w.err }

func (p *perfetto) close() error { return p.w.flush() }

// describe writes a track's descriptor.
func (p *perfetto) describe(d message) {
	p.starts()
	p.packet.message(packetDescriptor, d)
	p.w.write(p.packet)
}

func (p *perfetto) process(pid uint32, name, command string) {
	var d, of message
	of.uint(1, uint64(pid))
	if command != "" {
		of.text(2, command)
	}
	of.text(6, name)
	d.uint(trackUUID, p.processUUID(pid))
	d.message(trackProcess, of)
	p.describe(d)
}

func (p *perfetto) thread(t event.Thread, name string) {
	var d, of message
	of.uint(1, uint64(t.PID))
	of.uint(2, uint64(t.TID))
	if name != "" {
		of.text(5, name)
	}
	d.uint(trackUUID, p.threadUUID(t, calls))
	d.uint(trackParent, p.processUUID(t.PID))
	d.message(trackThread, of)
	p.describe(d)
}

// lane returns a thread's track, and declares it.
func (p *perfetto) lane(t event.Thread, l lane) uint64 {
	id := p.threadUUID(t, l)
	if l == calls || p.lanes[id] {
		return id
	}
	p.lanes[id] = true
	var d message
	d.uint(trackUUID, id)
	d.uint(trackParent, p.threadUUID(t, calls))
	d.text(trackName, "off-CPU")
	p.describe(d)
	return id
}

// begin starts an event on a track.
func (p *perfetto) begin(kind, track uint64) {
	p.event, p.news = p.event[:0], p.news[:0]
	p.event.uint(eventType, kind)
	p.event.uint(eventTrack, track)
}

// name adds a name, a category and values to an event.
func (p *perfetto) name(name, category string, args []arg) {
	p.event.uint(eventCategories, p.categories.id(category, &p.news))
	p.event.uint(eventName, p.names.id(name, &p.news))
	for i := range args {
		a := &args[i]
		p.part = p.part[:0]
		p.part.uint(argNameID, p.args.id(a.name, &p.news))
		switch a.kind {
		case number:
			p.part.uint(argUint, a.n)
		case address:
			p.part.uint(argPointer, a.n)
		case signed:
			p.part.uint(argInt, a.n)
		case real:
			p.part.double(argDouble, a.f)
		case text:
			p.text(a)
		}
		p.event.message(eventArgs, p.part)
	}
}

// keptTexts bounds the texts that are written only once, in bytes.
const keptTexts = 16 << 20

// text writes a text value. Ids of events are all different; other texts repeat.
func (p *perfetto) text(a *arg) {
	if a.name == "id" || p.texts.bytes+len(a.s) > keptTexts && p.texts.ids[a.s] == 0 {
		p.part.text(argText, a.s)
		return
	}
	p.part.uint(argTextID, p.texts.id(a.s, &p.news))
}

// end writes the event.
func (p *perfetto) end(at uint64) {
	if !p.clocked {
		p.clocked = true
		p.clock(at)
	}
	p.starts()
	p.packet.uint(packetTime, at)
	p.packet.uint(packetFlags, stateNeeded)
	if len(p.news) > 0 {
		p.packet.message(packetInterned, p.news)
	}
	p.packet.message(packetEvent, p.event)
	p.w.write(p.packet)
}

// clock says that the trace's clock is Unix time. The numbers of the clocks are those of
// builtin_clock.proto.
func (p *perfetto) clock(at uint64) {
	const realtime, boottime = 1, 6
	var snap message
	for _, id := range []uint64{boottime, realtime} {
		var c message
		c.uint(1, id)
		c.uint(2, at)
		snap.message(1, c)
	}
	p.starts()
	p.packet.uint(packetTime, at)
	p.packet.message(packetClocks, snap)
	p.w.write(p.packet)
}

func (p *perfetto) slice(s *slice) {
	track := p.lane(s.Thread, s.lane)
	p.begin(sliceBegin, track)
	p.name(s.name, s.category, s.args)
	if s.flow != 0 {
		p.event.fixed64(eventFlows, s.flow)
	}
	if s.from.flow != 0 {
		p.event.fixed64(eventFlowEnds, s.from.flow)
	}
	p.end(s.start)
	p.begin(sliceEnd, track)
	p.end(s.start + s.dur)
}

func (p *perfetto) mark(m *mark) {
	track := p.threadUUID(m.Thread, calls)
	if m.Thread == (event.Thread{}) {
		if p.marked == 0 {
			p.marked = p.track("Findings", p.node)
		}
		track = p.marked
	}
	p.begin(instant, track)
	p.name(m.name, m.category, m.args)
	if m.flow != 0 {
		p.event.fixed64(eventFlows, m.flow)
	}
	p.end(m.at)
}

func (p *perfetto) count(c *count) {
	key := counterKey{c.pid, c.name}
	track, ok := p.counters[key]
	if !ok {
		track = p.nextTrack
		p.nextTrack++
		p.counters[key] = track
		var d, of message
		of.text(6, c.unit)
		d.uint(trackUUID, track)
		d.text(trackName, c.name)
		if c.pid != 0 {
			d.uint(trackParent, p.processUUID(c.pid))
		} else if p.node != 0 {
			d.uint(trackParent, p.node)
		}
		d.message(trackCounter, of)
		p.describe(d)
	}
	p.begin(counter, track)
	p.event.double(eventDouble, c.value)
	p.end(c.at)
}

func (p *perfetto) band(b *band) {
	key := counterKey{b.pid, b.track}
	track, ok := p.bands[key]
	if !ok {
		track = p.track(b.track, p.processUUID(b.pid))
		p.bands[key] = track
	}
	p.begin(sliceBegin, track)
	p.name(b.name, "label", b.args)
	p.end(b.start)
	p.begin(sliceEnd, track)
	p.end(b.start + b.dur)
}
