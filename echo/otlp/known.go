package otlp

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/ingero-io/ingero/echo/row"
)

// Known caches the resources and series of recent points, so that their attributes are converted once and not for
// each point. Its methods may be called by several goroutines.
//
// The keys are all bytes that were sent, not a hash, so none is confused with another.
type Known struct {
	most      int           // bytes per generation
	resources atomic.Uint64 // number of resources made

	mu sync.RWMutex // guards what follows
	// Entries used since the last generation began are in now; others are in before, or dropped.
	now, before map[string]entry
	bytes       int // of now
}

// entry is a *resource or a *row.Series, which is never changed.
type entry struct {
	value any
	bytes int // of memory, roughly
}

// entryBytes is the memory of an entry besides its texts: a series, and its place in the map.
const entryBytes = 400

// NewKnown returns a cache of roughly the given size in bytes.
func NewKnown(bytes int) *Known { return &Known{most: bytes / 2, now: map[string]entry{}} }

// visit is a request's view of the cache, from begin to end.
type visit struct {
	known *Known
	fresh map[string]entry // entries to be added
	key   []byte           // of the last lookup
}

// begin locks the cache for reading, until end.
func (k *Known) begin() *visit {
	k.mu.RLock()
	return &visit{known: k, fresh: map[string]entry{}}
}

// end adds the fresh entries.
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

// get returns the value of v.key; nil: there is none.
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

// put adds a value for v.key. texts is the size of its texts in bytes.
func (v *visit) put(value any, texts int) {
	v.fresh[string(v.key)] = entry{value, entryBytes + len(v.key) + texts}
}

// resource is a converted resource.
type resource struct {
	attrs string // as JSON
	of    place
	// number stands for the resource in the keys of its series. Each number is used once.
	number uint64
}

// First bytes of keys.
const (
	ofResource = 'r'
	ofSeries   = 's'
)

// resource returns the cached resource with these attributes, in a request that names a cluster; nil: there is none.
func (v *visit) resource(attrs pcommon.Map, cluster string) *resource {
	v.key = append(v.key[:0], ofResource)
	v.key = appendCounted(v.key, cluster)
	v.key = appendAttrs(v.key, attrs, maxDepth)
	r, _ := v.get().(*resource)
	return r
}

// putResource adds the resource of the last lookup.
func (v *visit) putResource(r *resource) {
	r.number = v.known.resources.Add(1)
	v.put(r, len(r.attrs))
}

// series returns the cached series with these attributes; nil: there is none. before is the key's begin.
func (v *visit) series(before []byte, attrs pcommon.Map) *row.Series {
	v.key = append(v.key[:0], before...)
	v.key = appendAttrs(v.key, attrs, maxDepth)
	s, _ := v.get().(*row.Series)
	return s
}

// putSeries adds the series of the last lookup. It does not count the resource's text, which is shared.
func (v *visit) putSeries(s *row.Series) {
	v.put(s, len(s.Attrs)+len(s.Metric)+len(s.Unit)+len(s.Scope)+len(s.Cluster)+len(s.Node))
}

// beforeAttrs appends the begin of the keys of a metric's series.
func beforeAttrs(dst []byte, r *resource, s *row.Series) []byte {
	dst = append(dst, ofSeries, byte(s.Kind))
	dst = binary.LittleEndian.AppendUint64(dst, r.number)
	for _, t := range []string{s.Metric, s.Unit, s.Temporality, s.Scope} {
		dst = appendCounted(dst, t)
	}
	return dst
}

// appendAttrs writes attributes so that different ones have different bytes, except for those nested too deeply,
// which are refused.
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
