package export

import (
	"bufio"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protobuf message being written. Its methods append one field.
type message []byte

func (m *message) uint(f protowire.Number, v uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, f, protowire.VarintType), v)
}

func (m *message) fixed64(f protowire.Number, v uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, f, protowire.Fixed64Type), v)
}

func (m *message) double(f protowire.Number, v float64) { m.fixed64(f, math.Float64bits(v)) }

func (m *message) text(f protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, f, protowire.BytesType), s)
}

func (m *message) message(f protowire.Number, c message) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, f, protowire.BytesType), c)
}

// packetWriter writes the packets of a trace. It keeps the first error.
type packetWriter struct {
	w    *bufio.Writer
	head message
	err  error
}

func newPacketWriter(w io.Writer) *packetWriter {
	return &packetWriter{w: bufio.NewWriterSize(w, 1<<20)}
}

// Fields of the messages, as in perfetto's protos/perfetto/trace (trace.proto,
// trace_packet.proto, track_event/*.proto, interned_data.proto, clock_snapshot.proto).
const (
	tracePacket = 1 // of Trace

	packetClocks     = 6 // of TracePacket
	packetTime       = 8
	packetSequence   = 10
	packetEvent      = 11
	packetInterned   = 12
	packetFlags      = 13
	packetDescriptor = 60
	packetMachine    = 98

	stateCleared = 1 // of packetFlags
	stateNeeded  = 2

	internedCategories = 1 // of InternedData
	internedNames      = 2
	internedArgNames   = 3
	internedArgTexts   = 29

	eventCategories = 3 // of TrackEvent
	eventArgs       = 4
	eventType       = 9
	eventName       = 10
	eventTrack      = 11
	eventDouble     = 44
	eventFlows      = 47
	eventFlowEnds   = 48

	sliceBegin = 1 // of eventType
	sliceEnd   = 2
	instant    = 3
	counter    = 4

	argNameID  = 1 // of DebugAnnotation
	argUint    = 3
	argInt     = 4
	argDouble  = 5
	argText    = 6
	argPointer = 7
	argTextID  = 17

	trackUUID    = 1 // of TrackDescriptor
	trackName    = 2
	trackProcess = 3
	trackThread  = 4
	trackParent  = 5
	trackCounter = 8
)

// write writes a packet.
func (w *packetWriter) write(p message) {
	if w.err != nil {
		return
	}
	w.head = protowire.AppendVarint(protowire.AppendTag(w.head[:0], tracePacket, protowire.BytesType), uint64(len(p)))
	if _, w.err = w.w.Write(w.head); w.err == nil {
		_, w.err = w.w.Write(p)
	}
}

// fail keeps an error, as if writing had failed.
func (w *packetWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *packetWriter) flush() error {
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// interned numbers strings that are written once. New strings are sent with one packet.
type interned struct {
	field protowire.Number // of InternedData
	ids   map[string]uint64
	bytes int // size of the kept strings
}

// entryBytes is about the size of a map entry besides its string.
const entryBytes = 48

// id returns the number of s, and appends s to news if it is new.
func (i *interned) id(s string, news *message) uint64 {
	if id, ok := i.ids[s]; ok {
		return id
	}
	id := uint64(len(i.ids) + 1)
	i.ids[s] = id
	i.bytes += len(s) + entryBytes
	var entry message
	entry.uint(1, id)
	entry.text(2, s)
	news.message(i.field, entry)
	return id
}
