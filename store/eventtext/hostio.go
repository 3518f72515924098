package eventtext

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// device reads MAJOR:MINOR.
func (f *fields) device(key string) event.Device {
	v, ok := f.get(key)
	if !ok {
		return 0
	}
	a, b, _ := strings.Cut(v, ":")
	major, err := strconv.ParseUint(a, 10, 12)
	minor, err2 := strconv.ParseUint(b, 10, 20)
	if err != nil || err2 != nil {
		f.fail(fmt.Errorf("bad device %q: want MAJOR:MINOR", v))
		return 0
	}
	return event.Device(major<<20 | minor)
}

func (w *writer) device(key string, d event.Device) {
	if d != 0 {
		w.set(key, d.String())
	}
}

var deviceKind = kind{
	word: "device", named: true, parse: doDevice,
	format: lines(func(r *Recording) []event.DeviceName { return r.Devices }, (*writer).deviceName),
}

func doDevice(p *parser, f *fields) {
	name, err := unquote(f.name)
	f.fail(err)
	p.rec.Devices = append(p.rec.Devices, event.DeviceName{Name: name, Device: f.device("number")})
}

func (w *writer) deviceName(d *event.DeviceName) {
	w.word("device " + quote(d.Name))
	w.device("number", d.Device)
}

var fileKind = kind{
	word: "file", named: true, parse: doFile,
	format: lines(func(r *Recording) []event.File { return r.Files }, (*writer).file),
}

func doFile(p *parser, f *fields) {
	path, err := unquote(f.name)
	f.fail(err)
	p.rec.Files = append(p.rec.Files, event.File{Path: path, PID: uint32(f.uint("pid", 32)), Inode: f.uint("inode", 64)})
}

func (w *writer) file(x *event.File) {
	w.word("file " + quote(x.Path))
	w.num("pid", uint64(x.PID))
	w.num("inode", x.Inode)
}

var requestsKind = kind{
	word: "requests", timed: true, parse: doRequests,
	format: lines(func(r *Recording) []event.RequestSum { return r.RequestSums }, (*writer).requests),
}

func doRequests(p *parser, f *fields) {
	p.rec.RequestSums = append(p.rec.RequestSums, event.RequestSum{
		At: f.time(event.Thread{}), PID: uint32(f.uint("pid", 32)), Comm: f.text("comm"), Op: f.op("op"),
		Device:   f.device("device"),
		Requests: f.uint("count", 64), Errors: f.uint("errors", 64), Bytes: f.uint("bytes", 64),
		QueueNS: f.dur("queue"), DeviceNS: f.dur("device_time"), MaxNS: f.dur("max"),
	})
}

func (w *writer) requests(s *event.RequestSum) {
	w.word("requests " + w.when(s.At))
	w.num("pid", uint64(s.PID))
	w.text("comm", s.Comm)
	w.op("op", s.Op)
	w.device("device", s.Device)
	w.num("count", s.Requests)
	w.num("errors", s.Errors)
	w.num("bytes", s.Bytes)
	w.dur("queue", s.QueueNS)
	w.dur("device_time", s.DeviceNS)
	w.dur("max", s.MaxNS)
}

func (f *fields) endpoint(key string) (addr [16]byte, port uint16) {
	v, ok := f.get(key)
	if !ok {
		return netip.IPv4Unspecified().As16(), 0
	}
	a, err := netip.ParseAddrPort(v)
	if err != nil || a.Addr().Zone() != "" {
		f.fail(fmt.Errorf("bad address %q: want ADDRESS:PORT", v))
	}
	return a.Addr().As16(), a.Port()
}

var tcpKind = kind{
	word: "tcp", timed: true, parse: doTCP,
	format: lines(func(r *Recording) []event.Connection { return r.Connections }, (*writer).tcp),
}

func doTCP(p *parser, f *fields) {
	t := f.thread("thread")
	c := event.Connection{At: f.time(t.Thread), Thread: t.Thread, Comm: t.Comm}
	if v := f.text("comm"); v != "" {
		c.Comm = v
	}
	c.Duration = f.dur("dur")
	c.Op = f.op("op")
	c.Local, c.LocalPort = f.endpoint("local")
	c.Remote, c.RemotePort = f.endpoint("remote")
	c.State = uint8(f.uint("state", 8))
	c.Error = int32(f.int("error", 32, 0))
	c.Bytes, c.Retrans = uint32(f.uint("bytes", 32)), uint32(f.uint("retransmits", 32))
	c.RTT, c.MinRTT = uint32(f.uint("rtt_us", 32)), uint32(f.uint("min_rtt_us", 32))
	c.Inode = f.uint("inode", 64)
	p.rec.Connections = append(p.rec.Connections, c)
}

func (w *writer) tcp(c *event.Connection) {
	w.word("tcp " + w.when(c.At))
	w.thread("thread", c.Thread)
	w.text("comm", c.Comm)
	w.dur("dur", c.Duration)
	w.op("op", c.Op)
	w.set("local", netip.AddrPortFrom(netip.AddrFrom16(c.Local), c.LocalPort).String())
	w.set("remote", netip.AddrPortFrom(netip.AddrFrom16(c.Remote), c.RemotePort).String())
	w.num("state", uint64(c.State))
	w.int("error", int64(c.Error), 0)
	w.num("bytes", uint64(c.Bytes))
	w.num("retransmits", uint64(c.Retrans))
	w.num("rtt_us", uint64(c.RTT))
	w.num("min_rtt_us", uint64(c.MinRTT))
	w.num("inode", c.Inode)
}

var pagesKind = kind{
	word: "pages", timed: true, parse: doPages,
	format: lines(func(r *Recording) []event.PageSum { return r.Pages }, (*writer).pages),
}

func doPages(p *parser, f *fields) {
	p.rec.Pages = append(p.rec.Pages, event.PageSum{
		At: f.time(event.Thread{}), PID: uint32(f.uint("pid", 32)), Comm: f.text("comm"),
		Allocations: f.uint("allocations", 64),
		Pages:       f.uint("count", 64), Bytes: f.uint("bytes", 64), NoWaitBytes: f.uint("nowait", 64),
		Failed: f.uint("failed", 64),
	})
}

func (w *writer) pages(s *event.PageSum) {
	w.word("pages " + w.when(s.At))
	w.num("pid", uint64(s.PID))
	w.text("comm", s.Comm)
	w.num("allocations", s.Allocations)
	w.num("count", s.Pages)
	w.num("bytes", s.Bytes)
	w.num("nowait", s.NoWaitBytes)
	w.num("failed", s.Failed)
}
