package sqlite

import (
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// inserts are the statements the writer runs all the time.
type inserts struct {
	begin, commit, rollback     *boundStmt
	narrowCall, narrowCalls     *boundStmt
	wideCall, wideCalls         *boundStmt
	notable, ledger, args       *boundStmt
	restSize                    *boundStmt
	gap, offCPU, culprit        *boundStmt
	threadTime, life, throttle  *boundStmt
	gpu                         *boundStmt
	reclaim, socket             *boundStmt
	callSecond, gapSecond, loss *boundStmt
	siteSecond                  *boundStmt
	memory, memorySite          *boundStmt
	collective                  *boundStmt
	inFlight                    *boundStmt
	request, requestSecond, tcp *boundStmt
	hostMemory, pages           *boundStmt
}

// values is "?, ?, …" with n places.
func values(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

const ledgerWidth = int(event.NumClasses) + 2

func (i *inserts) prepare(c *sqlite.Conn) error {
	for _, s := range []struct {
		to    **boundStmt
		query string
	}{
		{&i.begin, "begin immediate"},
		{&i.commit, "commit"},
		{&i.rollback, "rollback"},
		{&i.narrowCall, "insert into call values (" + narrowRow + ")"},
		{&i.wideCall, "insert into call values (" + wideRow + ")"},
		{&i.narrowCalls, insertChunkOf(narrowRow)},
		{&i.wideCalls, insertChunkOf(wideRow)},
		{&i.notable, "insert or replace into notable values (?)"},
		{&i.restSize, "insert or replace into rest_size values (?, ?)"},
		{&i.ledger, "insert or replace into call_ledger (ts, " + ledgerColumns + ") values (" + values(1+ledgerWidth) + ")"},
		{&i.gap, "insert into gap (ts, thread, next, dur, notable, " + ledgerColumns + ") values (" + values(5+ledgerWidth) + ")"},
		{&i.offCPU, "insert into interval values (" + values(20) + ")"},
		{&i.culprit, "insert or replace into culprit values (?, ?, ?, ?)"},
		{&i.threadTime, "insert into thread_time values (" + values(17) + ")"},
		{&i.life, "insert into life values (" + values(6) + ")"},
		{&i.throttle, "insert into throttle values (" + values(8) + ")"},
		{&i.gpu, "insert into gpu_snapshot (ts, gpu, " + gpuColumns + ", session) values (" + values(3+int(store.NumGPUColumns)) + ")"},
		{&i.reclaim, "insert into reclaim values (" + values(6) + ")"},
		{&i.socket, "insert or replace into socket values (" + values(7) + ")"},
		{&i.callSecond, "insert or replace into call_second (id, thread, op, calls, errors, sum, max, bytes, first, last, " +
			ledgerColumns + ", hist, nested) values (" + values(12+ledgerWidth) + ")"},
		{&i.gapSecond, "insert or replace into gap_second (id, thread, gaps, sum, " + ledgerColumns + ") values (" + values(4+ledgerWidth) + ")"},
		{&i.siteSecond, "insert or replace into site_second values (" + values(8) + ")"},
		{&i.args, "insert or replace into args values (" + values(5) + ")"},
		{&i.memory, "insert into memory_second values (" + values(14) + ")"},
		{&i.memorySite, "insert into memory_site values (" + values(8) + ")"},
		{&i.collective, "insert into collective values (" + values(21) + ")"},
		{&i.inFlight, "insert or replace into in_flight values (" + values(flightColumns+int(event.NumClasses)) + ")"},
		{&i.request, "insert into request values (" + values(12) + ")"},
		{&i.requestSecond, "insert into request_second values (" + values(11) + ")"},
		{&i.tcp, "insert into tcp values (" + values(15) + ")"},
		{&i.hostMemory, "insert into host_memory values (" + values(6) + ")"},
		{&i.pages, "insert into page_second values (" + values(8) + ")"},
		{&i.loss, "insert or replace into loss values (?, ?, ?, ?)"},
	} {
		b, err := newBinder(c, s.query)
		if err != nil {
			return err
		}
		*s.to = b
	}
	return nil
}

// maxArgs bounds the dictionary of arguments in memory.
const maxArgs = 1 << 16

func (w *Writer) argsID(a *[event.NumArgs]uint64) int64 {
	if *a == [event.NumArgs]uint64{} {
		return 0
	}
	if len(w.args.ids) >= maxArgs {
		w.startEpoch()
	}
	return w.args.id(*a)
}

func (w *Writer) stackID(hash uint64) int64 {
	if hash == 0 {
		return 0
	}
	return w.stacks.id(hash)
}

// insertRest inserts what comes at low rates.
func (w *Writer) insertRest(b *store.Batch) error {
	for _, insert := range []func() error{
		func() error { return all(b.Gaps, w.insertGap) },
		func() error { return all(b.OffCPU, w.insertOffCPU) },
		func() error { return all(b.ThreadTimes, w.insertThreadTime) },
		func() error { return all(b.Lives, w.insertLife) },
		func() error { return all(b.Throttles, w.insertThrottle) },
		func() error { return all(b.Limits, w.insertLimit) },
		func() error { return all(b.Scheduling, w.insertScheduling) },
		func() error { return all(b.Kernels, w.insertKernel) },
		func() error { return all(b.Reclaims, w.insertReclaim) },
		func() error { return all(b.Stalls, w.insertStall) },
		func() error { return all(b.Snapshots, w.insertSnapshot) },
		func() error { return all(b.GPUs, w.insertGPU) },
		func() error { return all(b.GPUDevices, w.insertGPUDevice) },
		func() error { return all(b.GPUMemory, w.insertGPUProcess) },
		func() error { return all(b.Xids, w.insertXid) },
		func() error { return all(b.Collectives, w.insertCollective) },
		func() error { return all(b.InFlight, w.insertInFlight) },
		func() error { return w.insertHostIO(&b.IO) },
		func() error { return w.insertMemory(b) },
	} {
		if err := insert(); err != nil {
			return err
		}
	}
	return nil
}

// all inserts rows of one kind.
func all[T any](rows []T, insert func(*T) error) error {
	for i := range rows {
		if err := insert(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) insertGap(g *event.Gap) error {
	w.session.count(g.Start, g.Start+g.Duration, 0)
	b := w.ins.gap
	b.set(2, w.threads.get(g.Thread, "").id)
	b.set(3, int64(g.Next))
	b.set(4, int64(g.Duration))
	b.flag(5, store.WaitNS(&g.Ledger) >= uint64(store.NotableWait))
	b.ledger(6, &g.Ledger)
	w.txRows++
	_, err := b.runAt(g.Start)
	return err
}

func (w *Writer) insertOffCPU(o *event.OffCPU) error {
	w.session.count(o.Start, o.Start+o.Duration, 0)
	b := w.ins.offCPU
	b.set(2, w.threads.get(o.Thread, o.Comm).id)
	b.set(3, int64(o.Duration))
	b.opt(4, int64(o.RunQueue))
	b.opt(5, int64(o.Op))
	b.set(6, int64(o.Class))
	syscallOrNull(b, 7, o.Syscall)
	b.opt(8, int64(o.State))
	b.flag(9, o.Dispatch)
	b.flag(10, o.Followed)
	b.opt(11, int64(o.Futex))
	b.opt(12, int64(o.Holder))
	b.opt(13, int64(o.Inode))
	if o.Waker == (event.Thread{}) && o.WakerComm == "" {
		b.null(14)
	} else {
		b.set(14, w.threads.get(o.Waker, o.WakerComm).id)
	}
	b.opt(15, int64(o.WakerFutex))
	syscallOrNull(b, 16, o.WakerSyscall)
	b.opt(17, int64(o.OutCPU))
	b.opt(18, int64(o.InCPU))
	b.opt(19, int64(o.IdleNS))
	b.opt(20, w.kernelStack(o.Kernel))
	w.txRows++
	ts, err := b.runAt(o.Start)
	if err != nil {
		return err
	}
	if o.Socket.Kind != 0 {
		if err := w.insertSocket(ts, &o.Socket); err != nil {
			return err
		}
	}
	for n := range o.Culprits {
		c, b := &o.Culprits[n], w.ins.culprit
		b.set(1, int64(ts))
		b.set(2, int64(n))
		b.set(3, w.threads.get(c.Thread, c.Comm).id)
		b.set(4, int64(c.NS))
		if err := b.run(); err != nil {
			return err
		}
	}
	return nil
}

func syscallOrNull(b *boundStmt, i int, n int16) {
	if n < 0 {
		b.null(i)
		return
	}
	b.set(i, int64(n))
}

func (w *Writer) insertThreadTime(t *event.ThreadTime) error {
	w.session.count(t.At, t.At, 0)
	b := w.ins.threadTime
	b.set(2, w.threads.get(t.Thread, t.Comm).id)
	b.opt(3, int64(t.OnCPU))
	for c, ns := range t.NS {
		b.opt(4+c, int64(ns))
	}
	b.opt(15, int64(t.Runtime))
	b.flag(16, t.Dispatch)
	b.flag(17, t.Followed)
	w.txRows++
	_, err := b.runAt(t.At)
	return err
}

func (w *Writer) insertLife(l *event.Life) error {
	w.session.count(l.At, l.At, 0)
	b := w.ins.life
	b.set(2, int64(l.Kind))
	b.set(3, w.threads.get(l.Thread, l.Comm).id)
	if l.Parent == (event.Thread{}) {
		b.null(4)
	} else {
		b.set(4, w.threads.get(l.Parent, "").id)
	}
	b.opt(5, int64(l.Op))
	b.opt(6, int64(l.Duration))
	w.txRows++
	_, err := b.runAt(l.At)
	return err
}

func (w *Writer) insertThrottle(t *store.Throttle) error {
	b := w.ins.throttle
	b.set(2, w.cgroups.id(t.Cgroup))
	b.set(3, int64(t.Periods))
	b.set(4, int64(t.NS))
	b.set(5, w.session.id)
	b.opt(6, int64(t.QuotaUS))
	b.opt(7, int64(t.PeriodUS))
	b.opt(8, int64(t.Version))
	w.txRows++
	_, err := b.runAt(t.At)
	return err
}
