package sqlite

import (
	"errors"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// keepSeconds is how long the roll-ups of a second stay in memory for late events. Later events get
// a row of their own, which readers add up.
const keepSeconds = 3

// rollups are the tables whose keys are second << 20 | n; no two of them have the same one.
var rollups = []string{"call_second", "gap_second", "site_second"}

// maxSums bounds the roll-ups in memory while none can be written.
const maxSums = 20_000

type sumKey struct {
	second uint64
	of     *generation
	op     event.Op
	nested bool
}

type gapKey struct {
	second uint64
	of     *generation
}

// gapSum is a row of gap_second.
type gapSum struct {
	second uint64
	id     int64
	thread *thread
	gaps   uint64
	sum    uint64
	ledger event.Ledger
	dirty  bool
}

// roll starts the roll-ups of another second for a series.
func (w *Writer) roll(s *series, sec uint64) {
	if s.sum != nil && sec > s.sum.second {
		s.median.rolled(&s.sum.hist)
		s.thread = w.threads.row(s.of, "")
	}
	key := sumKey{sec, s.of, s.op, s.nested}
	sum := w.sums[key]
	if sum == nil {
		if n := len(w.freeSums); n > 0 {
			sum, w.freeSums = w.freeSums[n-1], w.freeSums[:n-1]
		} else {
			sum = new(callSum)
		}
		hist := sum.hist
		hist.Reset()
		*sum = callSum{second: sec, thread: s.thread, op: s.op, nested: s.nested, first: ^uint64(0), hist: hist}
		w.sums[key] = sum
	}
	s.sum = sum
	w.newest = max(w.newest, sec)
}

func (w *Writer) countGaps(gaps []event.Gap) {
	for i := range gaps {
		g := &gaps[i]
		of := w.threads.generation(g.Thread, "", g.Start, g.Start)
		key := gapKey{g.Start / second, of}
		s := w.gapSums[key]
		if s == nil {
			s = &gapSum{second: key.second, thread: w.threads.row(of, "")}
			w.gapSums[key] = s
			w.newest = max(w.newest, key.second)
		}
		s.gaps++
		s.sum += g.Duration
		s.ledger.Add(&g.Ledger)
		s.dirty = true
	}
}

// rollupID is a free id in the roll-up tables for a second.
func (w *Writer) rollupID(sec uint64) (int64, error) {
	n, ok := w.rowIDs[sec]
	if !ok {
		low, high := int64(sec<<20), int64((sec+1)<<20)
		var newest []string
		for _, table := range rollups {
			newest = append(newest, "coalesce((select max(id) from "+table+" where id >= ?1 and id < ?2), ?1 - 1)")
		}
		last, err := queryInt(w.conn, "select max("+strings.Join(newest, ", ")+")", low, high)
		if err != nil {
			return 0, err
		}
		n = last + 1
	}
	w.rowIDs[sec] = n + 1
	return n, nil
}

// giveID gives a row of a roll-up table an id, if it has none yet.
func (w *Writer) giveID(id *int64, sec uint64) (err error) {
	if *id == 0 {
		*id, err = w.rollupID(sec)
	}
	return err
}

func (w *Writer) writeSums() error {
	var blob []byte
	for _, s := range w.sums {
		if !s.dirty {
			continue
		}
		if err := w.giveID(&s.id, s.second); err != nil {
			return err
		}
		var err error
		if blob, err = s.hist.AppendBinary(blob[:0]); err != nil {
			return err
		}
		b := w.ins.callSecond
		b.set(1, s.id)
		b.set(2, s.thread.id)
		b.set(3, int64(s.op))
		b.set(4, int64(s.calls))
		b.opt(5, int64(s.errors))
		b.set(6, int64(s.sum))
		b.set(7, int64(s.max))
		b.opt(8, int64(s.bytes))
		b.set(9, int64(s.first))
		b.set(10, int64(s.last))
		b.ledger(11, &s.ledger)
		b.stmt.BindBytes(11+ledgerWidth, blob)
		b.stmt.BindBool(12+ledgerWidth, s.nested)
		if err := b.runStmt(); err != nil {
			return err
		}
	}
	return errors.Join(w.writeGapSums(), w.writeSiteSums())
}

func (w *Writer) writeGapSums() error {
	for _, s := range w.gapSums {
		if !s.dirty {
			continue
		}
		if err := w.giveID(&s.id, s.second); err != nil {
			return err
		}
		b := w.ins.gapSecond
		b.set(1, s.id)
		b.set(2, s.thread.id)
		b.set(3, int64(s.gaps))
		b.set(4, int64(s.sum))
		b.ledger(5, &s.ledger)
		if err := b.runStmt(); err != nil {
			return err
		}
	}
	return nil
}

// forgetSeconds drops written roll-ups for which no more calls are expected.
func (w *Writer) forgetSeconds() {
	for _, s := range w.series {
		if s.sum != nil && s.sum.second+keepSeconds < w.newest {
			s.median.rolled(&s.sum.hist)
			s.sum = nil
		}
		for _, site := range s.sites {
			if site.sum != nil && site.second+keepSeconds < w.newest {
				site.median.rolled(&site.sum.hist)
				site.sum = nil
			}
		}
	}
	for k, s := range w.sums {
		s.dirty = false
		if k.second+keepSeconds < w.newest {
			delete(w.sums, k)
			if len(w.freeSums) < 256 {
				w.freeSums = append(w.freeSums, s)
			}
		}
	}
	for k, s := range w.gapSums {
		s.dirty = false
		if k.second+keepSeconds < w.newest {
			delete(w.gapSums, k)
		}
	}
	w.forgetSites()
	for sec := range w.rowIDs {
		if sec+keepSeconds < w.newest {
			delete(w.rowIDs, sec)
		}
	}
}

// shed drops the oldest roll-ups when a full disk has kept too many in memory, and counts their
// calls as dropped.
func (w *Writer) shed() {
	for len(w.sums) > maxSums {
		oldest := ^uint64(0)
		for k := range w.sums {
			oldest = min(oldest, k.second)
		}
		for k, s := range w.sums {
			if k.second == oldest {
				w.lostStored(s.calls)
				delete(w.sums, k)
			}
		}
		for k := range w.siteSums {
			if k.second == oldest {
				delete(w.siteSums, k)
			}
		}
		for k := range w.gapSums {
			if k.second <= oldest {
				delete(w.gapSums, k)
			}
		}
		for _, s := range w.series {
			if s.sum != nil && s.sum.second == oldest {
				s.sum = nil
			}
			for _, site := range s.sites {
				if site.second == oldest {
					site.sum = nil
				}
			}
		}
	}
	w.shedThreads()
}

// maxThreads bounds the threads in memory while none can be written.
const maxThreads = 1 << 16

// shedThreads drops threads that were in no record for longest and processes of which none is left, if there are too
// many, and the names of threads that have ended, if too many are to be written and no sum refers to them.
func (w *Writer) shedThreads() {
	w.threads.shed(maxThreads)
	if len(w.procs) > maxThreads {
		for pid, p := range w.procs {
			if !p.Traced && w.threads.now[mainOf(event.Thread{PID: pid})] == nil {
				delete(w.procs, pid)
				w.lostStored(1)
			}
		}
	}
	if len(w.threads.fresh) <= maxThreads {
		return
	}
	used := map[*thread]bool{}
	for _, s := range w.sums {
		used[s.thread] = true
	}
	for _, s := range w.gapSums {
		used[s.thread] = true
	}
	for _, s := range w.siteSums {
		used[s.thread] = true
	}
	for _, s := range w.series {
		used[s.thread] = true
	}
	w.threads.fresh = slices.DeleteFunc(w.threads.fresh, func(t *thread) bool {
		drop := !used[t] && !w.threads.keeps(t)
		t.fresh = !drop
		return drop
	})
}
