package otlp

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/ingero-io/ingero/echo/row"
)

// Known keeps the resources and series of the points that came last, so that what their attributes say is read once,
// and not for each point. Its methods may be called by several goroutines.
//
// They are known again by all bytes of what was sent, not by a hash: none is taken for another.
type Known struct {
	most      int           // bytes of a generation
	resources atomic.Uint64 // that were made

	mu sync.RWMutex // guards what follows
	// What was used since the last generation began is in now; else it is in before, or forgotten.
	now, before map[string]entry
	bytes       int // of now
}

// entry is a *resource or a *row.Series. It is not changed.
type entry struct {
	value any
	bytes int // of memory, about
}

// entryBytes is what an entry takes besides its texts: a series, and its place in the map.
const entryBytes = 400

// NewKnown returns one that takes about so many bytes of memory at most.
func NewKnown(bytes int) *Known { return &Known{most: bytes / 2, now: map[string]entry{}} }

// visit is what a request knows and adds, from begin to end.
type visit struct {
	known *Known
	fresh map[string]entry // what is to be known, too
	key   []byte           // of what was asked for last
}

// begin keeps what is known as it is, until end.
func (k *Known) begin() *visit {
	k.mu.RLock()
	return &visit{known: k, fresh: map[string]entry{}}
}

// end adds what is fresh.
func (v *visit) end() {
	k := v.known
	k.mu.RUnlock()
	if len(v.fresh) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, e := range v.fresh {
		if k.bytes += e.bytes; k.bytes > k.most {
			k.before, k.now, k.bytes = k.now, map[string]entry{}, e.bytes
		}
		k.now[key] = e
	}
}

// get is what v.key is of; nil: it is not known.
func (v *visit) get() any {
	if e, ok := v.known.now[string(v.key)]; ok {
		return e.value
	}
	if e, ok := v.fresh[string(v.key)]; ok {
		return e.value
	}
	e, ok := v.known.before[string(v.key)]
	if ok {
		v.fresh[string(v.key)] = e
	}
	return e.value
}

// put remembers what v.key is of, with texts of so many bytes.
func (v *visit) put(value any, texts int) {
	v.fresh[string(v.key)] = entry{value, entryBytes + len(v.key) + texts}
}

// resource is what a resource says.
type resource struct {
	attrs string // as JSON
	of    place
	// number is what keys of its series have in its place. None is used twice.
	number uint64
}

// The first bytes of keys.
const (
	ofResource = 'r'
	ofSeries   = 's'
)

// resource finds the one with these attributes, of a request that names a cluster; nil: it is not known.
func (v *visit) resource(attrs pcommon.Map, cluster string) *resource {
	v.key = append(v.key[:0], ofResource)
	v.key = appendCounted(v.key, cluster)
	v.key = appendAttrs(v.key, attrs, maxDepth)
	r, _ := v.get().(*resource)
	return r
}

// putResource remembers the one that was asked for last.
func (v *visit) putResource(r *resource) {
	r.number = v.known.resources.Add(1)
	v.put(r, len(r.attrs))
}

// series finds the one with these attributes. What comes before them in its key is given; nil: it is not known.
func (v *visit) series(before []byte, attrs pcommon.Map) *row.Series {
	v.key = append(v.key[:0], before...)
	v.key = appendAttrs(v.key, attrs, maxDepth)
	s, _ := v.get().(*row.Series)
	return s
}

// putSeries remembers the one that was asked for last. Its resource's text is shared by others.
func (v *visit) putSeries(s *row.Series) {
	v.put(s, len(s.Attrs)+len(s.Metric)+len(s.Unit)+len(s.Scope)+len(s.Cluster)+len(s.Node))
}

// beforeAttrs is how keys of a metric's series begin.
func beforeAttrs(dst []byte, r *resource, s *row.Series) []byte {
	dst = append(dst, ofSeries, byte(s.Kind))
	dst = binary.LittleEndian.AppendUint64(dst, r.number)
	for _, t := range []string{s.Metric, s.Unit, s.Temporality, s.Scope} {
		dst = appendCounted(dst, t)
	}
	return dst
}

// appendAttrs writes attributes so that others have other bytes, but for what is nested so deeply that it is refused.
func appendAttrs(b []byte, m pcommon.Map, depth int) []byte {
	b = binary.AppendUvarint(b, uint64(m.Len()))
	for name, v := range m.All() {
		b = appendCounted(b, name)
		b = appendValue(b, v, depth-1)
	}
	return b
}

func appendValue(b []byte, v pcommon.Value, depth int) []byte {
	t := v.Type()
	b = append(b, byte(t))
	if depth == 0 {
		return b
	}
	switch t {
	case pcommon.ValueTypeStr:
		return appendCounted(b, v.Str())
	case pcommon.ValueTypeInt:
		return binary.LittleEndian.AppendUint64(b, uint64(v.Int()))
	case pcommon.ValueTypeDouble:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Double()))
	case pcommon.ValueTypeBool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case pcommon.ValueTypeBytes:
		raw := v.Bytes().AsRaw()
		b = binary.AppendUvarint(b, uint64(len(raw)))
		return append(b, raw...)
	case pcommon.ValueTypeMap:
		return appendAttrs(b, v.Map(), depth)
	case pcommon.ValueTypeSlice:
		s := v.Slice()
		b = binary.AppendUvarint(b, uint64(s.Len()))
		for i := range s.Len() {
			b = appendValue(b, s.At(i), depth-1)
		}
	}
	return b
}

// appendCounted writes a text after its length.
func appendCounted(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}
