package eventtext

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// fields are the key=value pairs of one line. Getters return zero for a missing
// key and keep the first error.
type fields struct {
	p      *parser
	offset uint64 // of the block
	when   string // time word
	name   string // name word
	pairs  []pair
	err    error
}

type pair struct {
	key, value string
	used       bool
}

func (f *fields) read(words []string) error {
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		if !ok {
			v = "true"
		}
		if k == "" {
			return fmt.Errorf("bad field %q", w)
		}
		f.pairs = append(f.pairs, pair{key: k, value: v})
	}
	return nil
}

func (f *fields) fail(err error) {
	if f.err == nil && err != nil {
		f.err = err
	}
}

func (f *fields) finish() error {
	for _, p := range f.pairs {
		if !p.used {
			f.fail(fmt.Errorf("unknown or repeated field %q", p.key))
		}
	}
	return f.err
}

func (f *fields) get(key string) (string, bool) {
	for i := range f.pairs {
		if p := &f.pairs[i]; p.key == key && !p.used {
			p.used = true
			return p.value, true
		}
	}
	return "", false
}

func (f *fields) flag(key string) bool {
	v, ok := f.get(key)
	if ok && v != "true" {
		f.fail(fmt.Errorf("%s takes no value", key))
	}
	return ok
}

func (f *fields) text(key string) string {
	v, _ := f.get(key)
	s, err := unquote(v)
	f.fail(err)
	return s
}

// uint reads a decimal or 0x number of at most the given bits.
func (f *fields) uint(key string, bits int) uint64 {
	v, ok := f.get(key)
	if !ok {
		return 0
	}
	return f.number(v, bits)
}

func (f *fields) number(v string, bits int) uint64 {
	n, err := strconv.ParseUint(v, 0, bits)
	if err != nil {
		f.fail(fmt.Errorf("bad number %q", v))
	}
	return n
}

func (f *fields) int(key string, bits int, missing int64) int64 {
	v, ok := f.get(key)
	if !ok {
		return missing
	}
	n, err := strconv.ParseInt(v, 0, bits)
	if err != nil {
		f.fail(fmt.Errorf("bad number %q", v))
	}
	return n
}

func (f *fields) dur(key string) uint64 {
	v, ok := f.get(key)
	if !ok {
		return 0
	}
	return f.duration(v)
}

// duration reads a duration or a range of durations.
func (f *fields) duration(v string) uint64 {
	a, b, ranged := strings.Cut(v, "..")
	lo, err := parseDuration(a)
	f.fail(err)
	if !ranged {
		return lo
	}
	hi, err := parseDuration(b)
	f.fail(err)
	return f.within(lo, hi, v)
}

// within draws a value from a range that is given as text.
func (f *fields) within(lo, hi uint64, text string) uint64 {
	if hi < lo {
		f.fail(fmt.Errorf("range %q ends before it begins", text))
	}
	if f.err != nil {
		return 0
	}
	return f.p.draw(lo, hi)
}

// time reads the line's time word. t is the thread whose cursor a dot means.
func (f *fields) time(t event.Thread) uint64 { return f.timeOf(f.when, t) }

func (f *fields) timeOf(w string, t event.Thread) uint64 {
	switch {
	case strings.HasPrefix(w, "@"):
		return f.number(w[1:], 64)
	case strings.HasPrefix(w, "+"):
		return f.sum(f.p.rec.Base, f.offset, f.duration(w[1:]))
	case strings.HasPrefix(w, "."):
		at, ok := f.p.cursor[t]
		if !ok {
			at = f.sum(f.p.rec.Base, f.offset)
		}
		if w == "." {
			return at
		}
		if d, ok := strings.CutPrefix(w, ".+"); ok {
			return f.sum(at, f.duration(d))
		}
	}
	if label, rest, ok := strings.Cut(w, "."); ok && label != "" {
		if other, ok := f.p.labels[label]; ok {
			return f.timeOf("."+rest, other.Thread)
		}
	}
	f.fail(fmt.Errorf("bad time %q: want +OFFSET, @NS or a dot", w))
	return 0
}

func (f *fields) sum(v ...uint64) uint64 {
	var s uint64
	for _, x := range v {
		if s > math.MaxUint64-x {
			f.fail(errors.New("time overflows"))
			return 0
		}
		s += x
	}
	return s
}

func (f *fields) op(key string) event.Op {
	v, ok := f.get(key)
	if !ok || v == "0" {
		return 0
	}
	if n, ok := strings.CutPrefix(v, "op-"); ok {
		return event.Op(f.number(n, 16))
	}
	i, ok := event.ByName(v)
	if !ok {
		f.fail(fmt.Errorf("unknown operation %q", v))
		return 0
	}
	return i.Op
}

// thread reads a label, or PID/TID.
func (f *fields) thread(key string) store.ThreadInfo {
	v, ok := f.get(key)
	if !ok {
		return store.ThreadInfo{}
	}
	return f.threadOf(v)
}

func (f *fields) threadOf(v string) store.ThreadInfo {
	if pid, tid, ok := strings.Cut(v, "/"); ok {
		return store.ThreadInfo{Thread: event.Thread{PID: uint32(f.number(pid, 32)), TID: uint32(f.number(tid, 32))}}
	}
	t, ok := f.p.labels[v]
	if !ok {
		f.fail(fmt.Errorf("unknown thread %q", v))
	}
	return t
}

// must is thread for kinds of lines that need one.
func (f *fields) must(key string) store.ThreadInfo {
	t := f.thread(key)
	if t.Thread == (event.Thread{}) {
		f.fail(fmt.Errorf("want %s=", key))
	}
	return t
}

func (f *fields) ledger() event.Ledger {
	var l event.Ledger
	for c := range event.NumClasses {
		l.NS[c] = f.dur(c.String())
	}
	l.Voluntary = uint16(f.uint("vol", 16))
	l.Involuntary = uint16(f.uint("invol", 16))
	return l
}

func (f *fields) numbers(key string) []uint64 {
	v, ok := f.get(key)
	if !ok {
		return nil
	}
	var r []uint64
	for s := range strings.SplitSeq(v, ",") {
		lo, hi, ranged := strings.Cut(s, "..")
		n := f.number(lo, 64)
		if ranged {
			n = f.within(n, f.number(hi, 64), s)
		}
		r = append(r, n)
	}
	return r
}

// counts reads DURATION*N,….
func (f *fields) counts(key string) []Count {
	v, ok := f.get(key)
	if !ok {
		return nil
	}
	var r []Count
	for s := range strings.SplitSeq(v, ",") {
		d, n, ok := strings.Cut(s, "*")
		if !ok {
			n = "1"
		}
		r = append(r, Count{f.duration(d), uint32(f.number(n, 32))})
	}
	return r
}

// culprits reads every culprit=THREAD:DURATION or PID/TID/COMM:DURATION.
func (f *fields) culprits() []event.Culprit {
	var r []event.Culprit
	for {
		v, ok := f.get("culprit")
		if !ok {
			return r
		}
		i := strings.LastIndexByte(v, ':')
		if i < 0 {
			f.fail(fmt.Errorf("bad culprit %q: want THREAD:DURATION", v))
			return nil
		}
		who, comm, named := v[:i], "", false
		if s := strings.SplitN(who, "/", 3); len(s) == 3 {
			who, comm, named = s[0]+"/"+s[1], s[2], true
		}
		t := f.threadOf(who)
		if named {
			var err error
			t.Comm, err = unquote(comm)
			f.fail(err)
		}
		r = append(r, event.Culprit{Thread: t.Thread, Comm: t.Comm, NS: f.duration(v[i+1:])})
	}
}
