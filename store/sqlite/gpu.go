package sqlite

import (
	"context"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/store"
)

func (w *Writer) insertGPU(g *store.GPUSnapshot) error {
	b := w.ins.gpu
	b.set(2, int64(g.GPU))
	for c, v := range g.Values() {
		if g.Known(store.GPUColumn(c)) {
			b.set(3+c, v)
		} else {
			b.null(3 + c)
		}
	}
	b.set(3+int(store.NumGPUColumns), w.session.id)
	w.txRows++
	_, err := b.runAt(g.At)
	return err
}

func (w *Writer) insertGPUDevice(d *store.GPUDevice) error {
	w.txRows++
	return exec(w.conn, "insert or replace into gpu_device values (?, ?, ?, ?, ?, ?)", w.session.id, int64(d.GPU), d.Name, d.UUID, d.BusID, d.Driver)
}

func (w *Writer) insertGPUProcess(p *store.GPUProcess) error {
	w.txRows++
	var bytes any // null
	if p.Known {
		bytes = int64(p.Bytes)
	}
	return exec(w.conn, "insert or replace into gpu_process values (?, ?, ?, ?, ?)", int64(p.At), int64(p.GPU), int64(p.PID), bytes, w.session.id)
}

// insertXid keeps an error. One whose nanosecond is taken moves up.
func (w *Writer) insertXid(x *store.Xid) error {
	w.txRows++
	w.session.count(x.At, x.At, 0) // a recording may begin or end with it
	var gpu, name any              // null
	if x.GPU >= 0 {
		gpu = int64(x.GPU)
	}
	if n := x.Name(); n != "" {
		name = n
	}
	return exec(w.conn, "insert into gpu_xid select max(?1, coalesce(1 + (select max(ts) from gpu_xid where ts >= ?1), 0)), ?2, ?3, ?4, ?5",
		int64(x.At), gpu, int64(x.Code), name, w.session.id)
}

// gpuColumns are the values of a reading, as store.GPUColumn numbers them; the first
// olderColumns of them were there before NVML was read.
const (
	gpuColumns   = "temp, clock, max_clock, util, reasons, mem, mem_total, mem_util, mem_clock, power, power_limit, ecc_corrected, ecc_uncorrected, ecc_corrected_ever, ecc_uncorrected_ever, mig"
	olderColumns = 7
)

// GPUSnapshots implements store.Reader.
func (r *Reader) GPUSnapshots(ctx context.Context, w store.Window) ([]store.GPUSnapshot, error) {
	columns := gpuColumns
	if ok, err := r.has(ctx, "gpu_device"); err != nil {
		return nil, err
	} else if !ok {
		columns = strings.Join(strings.Split(gpuColumns, ", ")[:olderColumns], ", ")
	}
	var out []store.GPUSnapshot
	err := r.optional(ctx, "gpu_snapshot", "select ts, gpu, "+columns+" from gpu_snapshot where ts between ? and ? order by ts", bounds(w), func(s *sqlite.Stmt) error {
		g := store.GPUSnapshot{At: uint64(s.ColumnInt64(0)), GPU: int(s.ColumnInt64(1))}
		var v [store.NumGPUColumns]int64
		for c := range store.NumGPUColumns {
			if i := 2 + int(c); i >= s.ColumnCount() || s.ColumnIsNull(i) {
				g.Unknown |= 1 << c
			} else {
				v[c] = s.ColumnInt64(i)
			}
		}
		g.SetValues(v)
		out = append(out, g)
		return nil
	})
	return out, err
}

// GPUMemory implements store.Reader.
func (r *Reader) GPUMemory(ctx context.Context, w store.Window) ([]store.GPUProcess, error) {
	var out []store.GPUProcess
	err := r.optional(ctx, "gpu_process", "select ts, gpu, pid, bytes from gpu_process where ts between ? and ? order by ts, gpu, pid", bounds(w), func(s *sqlite.Stmt) error {
		out = append(out, store.GPUProcess{
			At: uint64(s.ColumnInt64(0)), GPU: int(s.ColumnInt64(1)), PID: uint32(s.ColumnInt64(2)),
			Bytes: uint64(s.ColumnInt64(3)), Known: !s.ColumnIsNull(3),
		})
		return nil
	})
	return out, err
}

// Xids implements store.Reader.
func (r *Reader) Xids(ctx context.Context, w store.Window) ([]store.Xid, error) {
	var out []store.Xid
	err := r.optional(ctx, "gpu_xid", "select ts, gpu, xid from gpu_xid where ts between ? and ? order by ts", bounds(w), func(s *sqlite.Stmt) error {
		x := store.Xid{At: uint64(s.ColumnInt64(0)), GPU: -1, Code: uint32(s.ColumnInt64(2))}
		if !s.ColumnIsNull(1) {
			x.GPU = int(s.ColumnInt64(1))
		}
		out = append(out, x)
		return nil
	})
	return out, err
}
