package eventtext

import "github.com/ingero-io/ingero/event"

// GPU is a reading of a GPU.
type GPU struct {
	At             uint64 // Unix ns
	Index          int
	TempC          int // degrees Celsius
	ClockMHz       int
	MaxMHz         int
	UtilPct        int
	Reasons        uint64 // nvmlClocksEventReasons
	MemMB, TotalMB uint64 // MiB
}

// GPUDevice is a GPU of the machine.
type GPUDevice struct {
	Index int
	Node  int // memory node it is attached to; -1: not known
}

// GPUMemory is how much of a GPU's memory a process has from At on.
type GPUMemory struct {
	At    uint64 // Unix ns
	Index int
	PID   uint32
	Bytes uint64
}

// Xid is an error of a GPU that the driver reported.
type Xid struct {
	At    uint64 // Unix ns
	Index int    // -1: not known
	Code  uint32
}

var gpuKind = kind{
	word: "gpu", timed: true, parse: doGPU,
	format: lines(func(r *Recording) []GPU { return r.GPUs }, (*writer).gpu),
}

func doGPU(p *parser, f *fields) {
	i := func(key string) int { return int(f.int(key, 32, 0)) }
	p.rec.GPUs = append(p.rec.GPUs, GPU{
		At: f.time(event.Thread{}), Index: i("index"), TempC: i("temp"), ClockMHz: i("clock"), MaxMHz: i("max"),
		UtilPct: i("util"),
		Reasons: f.uint("reasons", 64), MemMB: f.uint("mem", 64), TotalMB: f.uint("mem_total", 64),
	})
}

func (w *writer) gpu(g *GPU) {
	w.word("gpu " + w.when(g.At))
	for _, f := range []struct {
		key string
		v   int
	}{{"index", g.Index}, {"temp", g.TempC}, {"clock", g.ClockMHz}, {"max", g.MaxMHz}, {"util", g.UtilPct}} {
		w.int(f.key, int64(f.v), 0)
	}
	w.hex("reasons", g.Reasons)
	w.num("mem", g.MemMB)
	w.num("mem_total", g.TotalMB)
}

var gpuDeviceKind = kind{
	word: "gpu_device", parse: doGPUDevice,
	format: lines(func(r *Recording) []GPUDevice { return r.GPUDevices }, (*writer).gpuDevice),
}

func doGPUDevice(p *parser, f *fields) {
	p.rec.GPUDevices = append(p.rec.GPUDevices, GPUDevice{
		Index: int(f.int("index", 32, 0)), Node: int(f.int("node", 32, -1)),
	})
}

func (w *writer) gpuDevice(g *GPUDevice) {
	w.word("gpu_device")
	w.int("index", int64(g.Index), 0)
	w.int("node", int64(g.Node), -1)
}

var gpuMemoryKind = kind{
	word: "gpu_memory", timed: true, parse: doGPUMemory,
	format: lines(func(r *Recording) []GPUMemory { return r.GPUMemory }, (*writer).gpuMemory),
}

func doGPUMemory(p *parser, f *fields) {
	p.rec.GPUMemory = append(p.rec.GPUMemory, GPUMemory{
		At: f.time(event.Thread{}), Index: int(f.int("index", 32, 0)), PID: uint32(f.uint("pid", 32)),
		Bytes: f.uint("bytes", 64),
	})
}

func (w *writer) gpuMemory(g *GPUMemory) {
	w.word("gpu_memory " + w.when(g.At))
	w.int("index", int64(g.Index), 0)
	w.num("pid", uint64(g.PID))
	w.num("bytes", g.Bytes)
}

var xidKind = kind{
	word: "xid", timed: true, parse: doXid,
	format: lines(func(r *Recording) []Xid { return r.Xids }, (*writer).xid),
}

func doXid(p *parser, f *fields) {
	p.rec.Xids = append(p.rec.Xids, Xid{
		At: f.time(event.Thread{}), Index: int(f.int("index", 32, 0)), Code: uint32(f.uint("code", 32)),
	})
}

func (w *writer) xid(x *Xid) {
	w.word("xid " + w.when(x.At))
	w.int("index", int64(x.Index), 0)
	w.num("code", uint64(x.Code))
}
