package sqlite

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// rankStepKind is the steps of ranks. SQL sees their sums by the second; a blob has each of them.
var rankStepKind = &kind[store.RankSteps]{
	tables: []table{{name: "rank_step", prune: "ts"}},
	rows:   func(t *store.Tables) *[]store.RankSteps { return &t.RankSteps },
	insert: func(w *Writer, _ []*boundStmt, r *store.RankSteps) error {
		w.session.count(r.At, r.At, 0)
		waits, err := waitsText(&r.Waits)
		if err != nil {
			return err
		}
		var rank any // null: no steps are counted
		if r.Rank >= 0 {
			rank = int64(r.Rank)
		}
		s := sumSteps(r.Steps)
		return exec(w.conn, `insert into rank_step
			select max(?1, coalesce(1 + (select max(ts) from rank_step where ts >= ?1), 0)), ?2, ?3, ?4, nullif(?5, 0),
				nullif(?6, 0), nullif(?7, 0), nullif(?8, 0), ?9, ?10, ?11, ?12, ?13, ?14, ?15, nullif(?16, 0), ?17,
				nullif(?18, ''), nullif(?19, 0), nullif(?20, 0), nullif(?21, 0), nullif(?22, 0), nullif(?23, 0),
				nullif(?24, ''), nullif(?25, 0), ?26`,
			int64(r.At), w.session.id, int64(r.PID), rank, int64(r.Ranks), int64(r.Comm), int64(r.Every), int64(r.Key),
			s.of(int64(s.first)), int64(len(r.Steps)), s.of(int64(s.begin)), s.of(int64(s.own)), s.of(int64(s.wait)),
			s.of(int64(s.gpu)), s.of(s.work), s.clock, s.of(s.device), r.Why, int64(r.Skipped), int64(r.Pairs), r.Spare,
			int64(r.Entered), int64(r.OpenNS), waits, r.Ended, packSteps(r))
	},
	view: `create view rank_steps as
select t.ts as timestamp, s.node, t.pid,
  (select p.name from process p where p.pid = t.pid and p.session = t.session) as comm, t.rank, t.ranks,
  iif(t.rank is null, null, printf('%016x', t.comm)) as communicator,
  iif(t.rank is null, null, printf('%016x', t.key)) as cohort_key, t.every as operations,
  t.first as first_step, t.steps, t.begin, (t.own_ns + t.wait_ns) / t.steps as step_ns, t.own_ns / t.steps as own_ns,
  t.wait_ns / t.steps as wait_ns, t.gpu_ns / t.steps as gpu_ns, t.work / t.steps as work, t.clock, case t.device
  when 1 then 'device' when 0 then 'host' end as measured, t.why, coalesce(t.skipped, 0) as skipped,
  coalesce(t.spare, 0) as spare, t.entered, coalesce(t.open_ns, 0) as open_ns, t.waits, coalesce(t.ended, 0) as ended
from rank_step t join session s on s.id = t.session;`,
	alone: true,
	query: `select pid, coalesce(rank, -1), ranks, comm, every, key, why, skipped, pairs, spare, entered, open_ns, waits,
		ended, data from rank_step where ts between ? and ? order by ts`,
	scan: func(_ context.Context, _ *Reader, s *sqlite.Stmt) (store.RankSteps, error) {
		r := store.RankSteps{
			PID: uint32(s.ColumnInt64(0)), Rank: int32(s.ColumnInt64(1)), Ranks: int32(s.ColumnInt64(2)), Comm: number(s, 3),
			Every: uint32(s.ColumnInt64(4)), Key: number(s, 5), Why: s.ColumnText(6), Skipped: number(s, 7),
			Pairs: number(s, 8), Spare: s.ColumnBool(9), Entered: uint32(s.ColumnInt64(10)), OpenNS: number(s, 11),
			Ended: s.ColumnBool(13),
		}
		data := make([]byte, s.ColumnLen(14))
		s.ColumnBytes(14, data)
		if err := unpackSteps(data, &r); err != nil {
			return r, err
		}
		return r, readWaits(s.ColumnText(12), &r.Waits)
	},
}

// stepSums are what SQL sees of steps.
type stepSums struct {
	n                            int
	first, begin, own, wait, gpu uint64
	work, clock                  float64
	device                       int64
}

func sumSteps(list []store.RankStep) stepSums {
	s := stepSums{n: len(list)}
	clocks := 0.0
	for i := range list {
		p := &list[i]
		if i == 0 {
			s.first, s.begin = p.Seq, p.End-p.OwnNS-p.WaitNS
		}
		s.own, s.wait, s.gpu, s.work = s.own+p.OwnNS, s.wait+p.WaitNS, s.gpu+p.GPUNS, s.work+p.Work
		if p.Clock > 0 {
			s.clock, clocks = s.clock+p.Clock, clocks+1
		}
		if p.Device {
			s.device = 1
		}
	}
	s.clock /= max(clocks, 1)
	return s
}

// of is a value of a column that is null without steps.
func (s *stepSums) of(v any) any {
	if s.n == 0 {
		return nil
	}
	return v
}

// waitsText is waits as JSON, empty if there are none.
func waitsText(w *[event.NumClasses]uint64) (string, error) {
	m := map[string]uint64{}
	for c, ns := range w {
		if ns > 0 {
			m[event.Class(c).String()] = ns
		}
	}
	if len(m) == 0 {
		return "", nil
	}
	b, err := json.Marshal(m)
	return string(b), err
}

// readWaits reads what waitsText wrote. Classes that are not known are left out.
func readWaits(s string, w *[event.NumClasses]uint64) error {
	if s == "" {
		return nil
	}
	m := map[string]uint64{}
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		return fmt.Errorf("read the waits of a rank: %w", err)
	}
	for c := range w {
		w[c] = m[event.Class(c).String()]
	}
	return nil
}

// packSteps writes the exact time and the steps as differences from the one before, in numbers of variable length.
func packSteps(r *store.RankSteps) []byte {
	b := binary.AppendUvarint(nil, r.At)
	b = binary.AppendUvarint(b, uint64(len(r.Steps)))
	var last store.RankStep
	for i := range r.Steps {
		p := &r.Steps[i]
		for _, v := range [...]uint64{p.Seq - last.Seq, p.End - last.End, p.OwnNS, p.WaitNS, p.GPUNS} {
			b = binary.AppendUvarint(b, v)
		}
		b = binary.AppendUvarint(b, differs(p.Work, last.Work))
		b = binary.AppendUvarint(b, differs(p.Clock, last.Clock))
		device := uint64(0)
		if p.Device {
			device = 1
		}
		b = binary.AppendUvarint(b, device)
		last = *p
	}
	return b
}

// differs is a small number if two numbers are alike. It is its own inverse in the sense of like.
func differs(v, last float64) uint64 {
	return bits.ReverseBytes64(math.Float64bits(v) ^ math.Float64bits(last))
}

// like is the number that differs so from another one.
func like(d uint64, last float64) float64 {
	return math.Float64frombits(bits.ReverseBytes64(d) ^ math.Float64bits(last))
}

// unpackSteps reads what packSteps wrote.
func unpackSteps(b []byte, r *store.RankSteps) error {
	bad := false
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			bad = true
			return 0
		}
		b = b[n:]
		return v
	}
	r.At = next()
	n := next()
	if n > uint64(len(b)) { // each has a byte at least
		bad = true
	}
	var last store.RankStep
	for i := uint64(0); i < n && !bad; i++ {
		p := store.RankStep{Seq: last.Seq + next(), End: last.End + next(), OwnNS: next(), WaitNS: next(), GPUNS: next()}
		p.Work, p.Clock = like(next(), last.Work), like(next(), last.Clock)
		p.Device = next() == 1
		r.Steps = append(r.Steps, p)
		last = p
	}
	if bad || len(b) > 0 {
		return fmt.Errorf("read the steps of a rank: the row is damaged")
	}
	return nil
}
