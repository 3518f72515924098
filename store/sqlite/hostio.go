package sqlite

import (
	"context"
	"net/netip"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

func (w *Writer) insertHostIO(h *store.HostIO) error {
	for i := range h.Requests {
		if err := w.insertRequest(&h.Requests[i]); err != nil {
			return err
		}
	}
	for i := range h.Sums {
		if err := w.insertRequestSum(&h.Sums[i]); err != nil {
			return err
		}
	}
	for i := range h.Connections {
		if err := w.insertConnection(&h.Connections[i]); err != nil {
			return err
		}
	}
	for i := range h.Memory {
		if err := w.insertHostMemory(&h.Memory[i]); err != nil {
			return err
		}
	}
	for i := range h.Pages {
		if err := w.insertPages(&h.Pages[i]); err != nil {
			return err
		}
	}
	for _, d := range h.Devices {
		w.txRows++
		if err := exec(w.conn, "insert or replace into device values (?, ?, ?)", w.session.id, int64(d.Device), d.Name); err != nil {
			return err
		}
	}
	for _, f := range h.Files {
		w.txRows++
		if err := exec(w.conn, "insert or replace into file values (?, ?, ?, ?)", w.session.id, int64(f.PID), int64(f.Inode), f.Path); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) insertRequest(r *event.Request) error {
	w.session.count(r.Start, r.End(), 0)
	b := w.ins.request
	b.set(2, w.threads.get(r.Thread, r.Comm).id)
	b.set(3, int64(r.Op))
	b.set(4, int64(r.Device))
	b.set(5, int64(r.Duration))
	for n, v := range []uint64{r.Queue, r.Sector, uint64(r.Bytes), uint64(r.Flags), r.Inode, uint64(r.By), uint64(r.Error)} {
		b.opt(6+n, int64(v))
	}
	w.txRows++
	_, err := b.runAt(r.Start)
	return err
}

func (w *Writer) insertRequestSum(s *event.RequestSum) error {
	b := w.ins.requestSecond
	b.set(2, int64(s.At))
	b.set(3, w.threads.get(event.Thread{PID: s.PID, TID: s.PID}, s.Comm).id)
	b.set(4, int64(s.Op))
	b.set(5, int64(s.Device))
	b.set(6, int64(s.Requests))
	for n, v := range []uint64{s.Errors, s.Bytes, s.QueueNS, s.DeviceNS, s.MaxNS} {
		b.opt(7+n, int64(v))
	}
	w.txRows++
	_, err := b.runAt(s.At)
	return err
}

func (w *Writer) insertConnection(c *event.Connection) error {
	w.session.count(c.At, c.At, 0)
	b := w.ins.tcp
	if c.PID == 0 {
		b.null(2)
	} else {
		b.set(2, w.threads.get(c.Thread, c.Comm).id)
	}
	b.set(3, int64(c.Op))
	b.opt(4, int64(c.Duration))
	b.text(5, netip.AddrFrom16(c.Local).Unmap().String())
	b.opt(6, int64(c.LocalPort))
	b.text(7, netip.AddrFrom16(c.Remote).Unmap().String())
	b.opt(8, int64(c.RemotePort))
	for n, v := range []int64{int64(c.State), int64(c.Error), int64(c.Bytes), int64(c.Retrans), int64(c.RTT), int64(c.MinRTT)} {
		b.opt(9+n, v)
	}
	b.set(15, w.session.id)
	w.txRows++
	_, err := b.runAt(c.At)
	return err
}

func (w *Writer) insertHostMemory(m *event.HostMemory) error {
	b := w.ins.hostMemory
	b.set(2, w.mainThread(m.PID))
	for n, v := range []uint64{m.MinorFaults, m.MajorFaults, m.RSS, m.Swap} {
		b.opt(3+n, int64(v))
	}
	w.txRows++
	_, err := b.runAt(m.At)
	return err
}

// HostIO implements store.Reader.
func (r *Reader) HostIO(ctx context.Context, w store.Window) (store.HostIO, error) {
	var h store.HostIO
	for _, read := range []func(context.Context, store.Window, *store.HostIO) error{
		r.requestSums, r.deviceNames, r.files, r.connections, r.hostMemory, r.pages,
	} {
		if err := read(ctx, w, &h); err != nil {
			return h, err
		}
	}
	return h, nil
}

func (r *Reader) requestSums(ctx context.Context, w store.Window, h *store.HostIO) error {
	const query = "select second, thread, op, dev, requests, errors, bytes, queue, device, max from request_second where ts between ? and ? order by ts"
	w.From -= min(w.From, second) // of a second that has begun before the window
	return r.optional(ctx, "request_second", query, bounds(w), func(s *sqlite.Stmt) error {
		i := func(n int) uint64 { return uint64(s.ColumnInt64(n)) }
		t, err := r.thread(ctx, s.ColumnInt64(1))
		h.Sums = append(h.Sums, event.RequestSum{
			At: i(0), PID: t.PID, Comm: t.Comm, Op: event.Op(i(2)), Device: event.Device(i(3)),
			Requests: i(4), Errors: i(5), Bytes: i(6), QueueNS: i(7), DeviceNS: i(8), MaxNS: i(9),
		})
		return err
	})
}

func (r *Reader) deviceNames(ctx context.Context, _ store.Window, h *store.HostIO) error {
	return r.optional(ctx, "device", "select dev, name from device order by session, dev", nil, func(s *sqlite.Stmt) error {
		h.Devices = append(h.Devices, event.DeviceName{Device: event.Device(s.ColumnInt64(0)), Name: s.ColumnText(1)})
		return nil
	})
}

func (r *Reader) files(ctx context.Context, _ store.Window, h *store.HostIO) error {
	return r.optional(ctx, "file", "select pid, inode, path from file order by session, pid, inode", nil, func(s *sqlite.Stmt) error {
		h.Files = append(h.Files, event.File{PID: uint32(s.ColumnInt64(0)), Inode: uint64(s.ColumnInt64(1)), Path: s.ColumnText(2)})
		return nil
	})
}

func (r *Reader) connections(ctx context.Context, w store.Window, h *store.HostIO) error {
	const query = "select ts, thread, op, dur, local, lport, remote, rport, state, error, bytes, retrans, rtt, min_rtt from tcp where ts between ? and ? order by ts"
	return r.optional(ctx, "tcp", query, bounds(w), func(s *sqlite.Stmt) error {
		i := func(n int) uint64 { return uint64(s.ColumnInt64(n)) }
		c := event.Connection{
			At: i(0), Op: event.Op(i(2)), Duration: i(3), LocalPort: uint16(i(5)), RemotePort: uint16(i(7)), State: uint8(i(8)),
			Error: int32(i(9)), Bytes: uint32(i(10)), Retrans: uint32(i(11)), RTT: uint32(i(12)), MinRTT: uint32(i(13)),
		}
		for n, to := range map[int]*[16]byte{4: &c.Local, 6: &c.Remote} {
			if a, err := netip.ParseAddr(s.ColumnText(n)); err == nil {
				*to = a.As16()
			}
		}
		if !s.ColumnIsNull(1) {
			t, err := r.thread(ctx, s.ColumnInt64(1))
			if err != nil {
				return err
			}
			c.Thread, c.Comm = t.Thread, t.Comm
		}
		h.Connections = append(h.Connections, c)
		return nil
	})
}

func (r *Reader) hostMemory(ctx context.Context, w store.Window, h *store.HostIO) error {
	const query = "select ts, thread, minor, major, rss, swap from host_memory where ts between ? and ? order by ts"
	return r.optional(ctx, "host_memory", query, bounds(w), func(s *sqlite.Stmt) error {
		i := func(n int) uint64 { return uint64(s.ColumnInt64(n)) }
		t, err := r.thread(ctx, s.ColumnInt64(1))
		h.Memory = append(h.Memory, event.HostMemory{
			At: i(0), PID: t.PID, MinorFaults: i(2), MajorFaults: i(3), RSS: i(4), Swap: i(5),
		})
		return err
	})
}
