package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/store"
)

// maxSites is how many call sites of an operation on a thread are kept apart. Programs wait for the
// GPU from a handful; only code generated at run time has more.
const maxSites = 32

type siteKey struct {
	second uint64
	of     *generation
	op     event.Op
	site   uint64
}

// siteSum is a row of site_second.
type siteSum struct {
	id     int64 // 0 until it was first written
	thread *thread
	calls  uint64
	sum    uint64
	max    uint64
	hist   stats.Histogram
	dirty  bool
}

// callSite is a place from which a series' calls are made.
type callSite struct {
	addr   uint64
	seen   uint64 // calls so far
	median medianOf
	second uint64
	sum    *siteSum // of the current second
}

// siteOf finds the site of a call; the one with address 0 if there are too many.
func (s *series) siteOf(addr uint64) *callSite {
	for _, site := range s.sites {
		if site.addr == addr {
			return site
		}
	}
	if len(s.sites) > maxSites {
		return s.sites[0]
	}
	if len(s.sites) == 0 {
		s.sites = append(s.sites, &callSite{})
	}
	if addr == 0 {
		return s.sites[0]
	}
	s.sites = append(s.sites, &callSite{addr: addr})
	return s.sites[len(s.sites)-1]
}

// countSite counts a call at its site, and returns the usual duration of calls from there, in ns.
func (w *Writer) countSite(c *event.Call, s *series) (median uint64) {
	site := s.siteOf(c.Args[event.SiteArg])
	sec := c.Start / second
	if site.sum == nil || site.second != sec {
		w.rollSite(s, site, sec)
	}
	sum, weight := site.sum, max(c.Weight, 1)
	sum.dirty = true
	sum.calls += uint64(weight)
	sum.sum += c.Duration * uint64(weight)
	sum.max = max(sum.max, c.Duration)
	sum.hist.AddN(c.Duration, weight)
	site.seen++
	site.median.counted(site.seen, &sum.hist)
	return site.median.value
}

// rollSite starts the sum of another second for a site.
func (w *Writer) rollSite(s *series, site *callSite, sec uint64) {
	if site.sum != nil && sec > site.second {
		site.median.rolled(&site.sum.hist)
	}
	key := siteKey{sec, s.of, s.op, site.addr}
	sum := w.siteSums[key]
	if sum == nil {
		sum = &siteSum{thread: w.threads.row(s.of, "")}
		w.siteSums[key] = sum
	}
	site.second, site.sum = sec, sum
}

func (w *Writer) writeSiteSums() error {
	var blob []byte
	for k, s := range w.siteSums {
		if !s.dirty {
			continue
		}
		if err := w.giveID(&s.id, k.second); err != nil {
			return err
		}
		var err error
		if blob, err = s.hist.AppendBinary(blob[:0]); err != nil {
			return err
		}
		b := w.ins.siteSecond
		b.set(1, s.id)
		b.set(2, s.thread.id)
		b.set(3, int64(k.op))
		b.set(4, int64(k.site))
		b.set(5, int64(s.calls))
		b.set(6, int64(s.sum))
		b.set(7, int64(s.max))
		b.stmt.BindBytes(8, blob)
		if err := b.runStmt(); err != nil {
			return err
		}
	}
	return nil
}

// forgetSites drops written sums for which no more calls are expected.
func (w *Writer) forgetSites() {
	for k, s := range w.siteSums {
		s.dirty = false
		if k.second+keepSeconds < w.newest {
			delete(w.siteSums, k)
		}
	}
}

// WaitSites implements store.Reader. The window grows to whole seconds.
func (r *Reader) WaitSites(ctx context.Context, w store.Window, step uint64) ([]store.SiteSecond, error) {
	if ok, err := r.has(ctx, "site_second"); err != nil || !ok {
		return nil, err
	}
	step = max(step, 1)
	type key struct {
		second uint64
		id     event.Thread
		op     event.Op
		site   uint64
	}
	at := map[key]int{}
	var out []store.SiteSecond
	var blob []byte
	var hist stats.Histogram
	const query = `select id, thread, op, site, calls, sum, max, hist from site_second
		where id between ? and ? order by id`
	err := r.rows(ctx, query, seconds(w), func(s *sqlite.Stmt) error {
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return err
		}
		u := func(i int) uint64 { return uint64(s.ColumnInt64(i)) }
		k := key{u(0) >> 20 / step * step, t.Thread, event.Op(u(2)), u(3)}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, store.SiteSecond{Second: k.second, Thread: k.id, Op: k.op, Site: k.site, Hist: &stats.Histogram{}})
		}
		o := &out[i]
		o.Calls += u(4)
		o.SumNS += u(5)
		o.MaxNS = max(o.MaxNS, u(6))
		if blob, err = readHistogram(s, 7, &hist, blob, o.Op); err != nil {
			return err
		}
		o.Hist.Merge(&hist)
		return nil
	})
	return out, err
}
