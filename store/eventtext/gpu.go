package eventtext

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

var gpuKind = kind{
	word: "gpu", timed: true, parse: doGPU,
	format: lines(func(r *Recording) []store.GPUSnapshot { return r.GPUs }, (*writer).gpu),
}

func doGPU(p *parser, f *fields) {
	i := func(key string) int { return int(f.int(key, 32, 0)) }
	p.rec.GPUs = append(p.rec.GPUs, store.GPUSnapshot{
		At: f.time(event.Thread{}), GPU: i("index"), TempC: i("temp"), ClockMHz: i("clock"), MaxMHz: i("max"),
		UtilPct: i("util"),
		Reasons: f.uint("reasons", 64), MemMB: f.uint("mem", 64), TotalMB: f.uint("mem_total", 64),
	})
}

func (w *writer) gpu(g *store.GPUSnapshot) {
	w.word("gpu " + w.when(g.At))
	for _, f := range []struct {
		key string
		v   int
	}{{"index", g.GPU}, {"temp", g.TempC}, {"clock", g.ClockMHz}, {"max", g.MaxMHz}, {"util", g.UtilPct}} {
		w.int(f.key, int64(f.v), 0)
	}
	w.hex("reasons", g.Reasons)
	w.num("mem", g.MemMB)
	w.num("mem_total", g.TotalMB)
}

var gpuDeviceKind = kind{
	word: "gpu_device", parse: doGPUDevice,
	format: lines(func(r *Recording) []store.GPUDevice { return r.GPUDevices }, (*writer).gpuDevice),
}

func doGPUDevice(p *parser, f *fields) {
	p.rec.GPUDevices = append(p.rec.GPUDevices, store.GPUDevice{
		GPU: int(f.int("index", 32, 0)), Node: int(f.int("node", 32, -1)),
	})
}

func (w *writer) gpuDevice(g *store.GPUDevice) {
	w.word("gpu_device")
	w.int("index", int64(g.GPU), 0)
	w.int("node", int64(g.Node), -1)
}

var gpuMemoryKind = kind{
	word: "gpu_memory", timed: true, parse: doGPUMemory,
	format: lines(func(r *Recording) []store.GPUProcess { return r.GPUMemory }, (*writer).gpuMemory),
}

func doGPUMemory(p *parser, f *fields) {
	p.rec.GPUMemory = append(p.rec.GPUMemory, store.GPUProcess{
		At: f.time(event.Thread{}), GPU: int(f.int("index", 32, 0)), PID: uint32(f.uint("pid", 32)),
		Bytes: f.uint("bytes", 64), Known: true,
	})
}

func (w *writer) gpuMemory(g *store.GPUProcess) {
	w.word("gpu_memory " + w.when(g.At))
	w.int("index", int64(g.GPU), 0)
	w.num("pid", uint64(g.PID))
	w.num("bytes", g.Bytes)
}

var xidKind = kind{
	word: "xid", timed: true, parse: doXid,
	format: lines(func(r *Recording) []store.Xid { return r.Xids }, (*writer).xid),
}

func doXid(p *parser, f *fields) {
	p.rec.Xids = append(p.rec.Xids, store.Xid{
		At: f.time(event.Thread{}), GPU: int(f.int("index", 32, 0)), Code: uint32(f.uint("code", 32)),
	})
}

func (w *writer) xid(x *store.Xid) {
	w.word("xid " + w.when(x.At))
	w.int("index", int64(x.GPU), 0)
	w.num("code", uint64(x.Code))
}
