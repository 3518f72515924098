package agent

import (
	"slices"
	"syscall"
	"time"

	"github.com/ingero-io/ingero/capture/host/nvml"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// gpus is what the run knows of the machine's GPUs.
type gpus struct {
	reader  *nvml.Reader
	sys     string // where sysfs is mounted; empty: /sys
	devices map[int]store.GPUDevice
	memory  map[gpuProcess]store.GPUProcess // as recorded last
	last    map[int]store.GPUSnapshot       // reading of each
	missed  uint64                          // readings, so far
	files   limit.Patient
}

// gpuProcess is a process on a GPU.
type gpuProcess struct {
	gpu int
	pid uint32
}

// newGPUs begins to read. sys is where sysfs is mounted; empty means /sys.
func newGPUs(o nvml.Options, sys string) *gpus {
	return &gpus{
		reader: nvml.Start(o), sys: sys,
		devices: map[int]store.GPUDevice{}, memory: map[gpuProcess]store.GPUProcess{},
		last: map[int]store.GPUSnapshot{}, files: limit.Patient{Wait: patience},
	}
}

func gpuFollower(s *shared, names *processTable) follower {
	var g *gpus
	return follower{
		start: func(b *beginning) {
			dirs := slices.Clone(s.opts.NVML)
			if b.command != nil { // where its other libraries are
				dirs = append(dirs, b.command.libraryDirs()...)
			}
			g = newGPUs(nvml.Options{Dirs: dirs, Logger: s.log}, s.opts.SysRoot)
			g.running(s.targets.traced, s.fs)
		},
		mapped: func(m probe.Mapped) {
			if s.targets.wants(m.PID) {
				g.mapped(m)
			}
		},
		second: func(t *second) {
			g.take(&t.item.batch, func(pid uint32) {
				names.addUntraced(sighting{Thread: event.Thread{PID: pid}, existed: uint64(t.now.UnixNano())})
			})
			t.lost[event.LostReading] += g.missed
			t.status.GPUReader = g.reader.State().Used
		},
		close: func() { g.close() },
	}
}

// take adds to a batch what was read since the last call. It never waits. Of each new
// process, addUntraced is told.
func (g *gpus) take(b *store.Batch, addUntraced func(pid uint32)) {
	t := g.reader.Take()
	g.missed += t.Missed
	driver := g.reader.State().Driver.Version
	for _, d := range t.Devices {
		n := store.GPUDevice{
			GPU: d.GPU, Name: d.Name, UUID: d.UUID, BusID: d.BusID, Driver: driver,
			Node: proc.DeviceNode(g.sys, d.BusID),
		}
		if g.devices[d.GPU] != n {
			g.devices[d.GPU] = n
			b.GPUDevices = append(b.GPUDevices, n)
		}
	}
	for _, x := range t.Xids {
		b.Xids = append(b.Xids, store.Xid{At: uint64(x.At.UnixNano()), GPU: x.GPU, Code: x.Code})
	}
	for i := range t.Readings {
		r := &t.Readings[i]
		s := snapshotOf(r)
		b.GPUs = append(b.GPUs, s)
		g.clockChanges(&s, b)
		if r.Status(nvml.Processes) == 0 {
			g.changes(r, b, addUntraced)
		}
	}
}

// mapped learns of a copy of the library that a process uses, which matters if the machine has none of its own. A file
// that only a container has is left alone: the library is run, and what a container brings must not run outside of it.
func (g *gpus) mapped(m probe.Mapped) {
	if g == nil || !nvml.IsLibrary(m.Path) || g.reader.State().Library != "" {
		return
	}
	s, err := limit.Within(&g.files, func() (*syscall.Stat_t, error) { return statOf(m.Path) }, nil)
	if err == nil && s.Ino == m.Inode {
		g.reader.Also(m.Path)
	}
}

// running looks for the library in processes that run already.
func (g *gpus) running(pids map[int]bool, fs proc.FS) {
	for pid := range pids {
		list, err := fs.Maps(pid)
		if err != nil {
			continue // it ended
		}
		for _, m := range list {
			if m.Exec {
				g.mapped(probe.Mapped{PID: pid, Path: m.Path, Inode: m.Inode})
			}
		}
	}
}

// refresh is after how long what a process has is recorded again though it has not
// changed: a recording's oldest rows may be pruned.
const refresh = time.Minute

// changes adds what changed of the processes on a GPU: those there are, and those
// there were.
func (g *gpus) changes(r *nvml.Reading, b *store.Batch, addUntraced func(pid uint32)) {
	at := uint64(r.At.UnixNano())
	there := map[uint32]store.GPUProcess{}
	for _, p := range r.Processes {
		if p.PID == 0 {
			continue // of another container, whose processes are not told
		}
		q := there[p.PID] // several instances of a GPU (MIG) may name it
		there[p.PID] = store.GPUProcess{At: at, GPU: r.GPU, PID: p.PID, Bytes: q.Bytes + p.Bytes, Known: q.Known || p.Known}
	}
	for pid, p := range there {
		old, known := g.memory[gpuProcess{r.GPU, pid}]
		if !known {
			addUntraced(pid)
		}
		if !known || old.Bytes != p.Bytes || old.Known != p.Known || at-old.At >= uint64(refresh) {
			g.memory[gpuProcess{r.GPU, pid}] = p
			b.GPUMemory = append(b.GPUMemory, p)
		}
	}
	for k := range g.memory {
		if _, ok := there[k.pid]; k.gpu == r.GPU && !ok {
			delete(g.memory, k)
			b.GPUMemory = append(b.GPUMemory, store.GPUProcess{At: at, GPU: r.GPU, PID: k.pid, Known: true})
		}
	}
}

// column is how a field is recorded: divided by unit.
type column struct {
	field nvml.Field
	unit  uint64
}

const mib = 1 << 20

// columns are the fields of a recorded reading, by store.GPUColumn.
var columns = [store.NumGPUColumns]column{
	store.GPUTemp: {nvml.Temp, 1}, store.GPUClock: {nvml.ClockSM, 1}, store.GPUMaxClock: {nvml.MaxSM, 1},
	store.GPUUtil:    {nvml.Util, 1},
	store.GPUReasons: {nvml.Reasons, 1}, store.GPUMem: {nvml.MemUsed, mib}, store.GPUMemTotal: {nvml.MemTotal, mib},
	store.GPUMemUtil: {nvml.UtilMem, 1}, store.GPUMemClock: {nvml.ClockMem, 1}, store.GPUPower: {nvml.Power, 1},
	store.GPUPowerLimit: {nvml.PowerLimit, 1},
	store.GPUCorrected:  {nvml.ECCCorrected, 1}, store.GPUUncorrected: {nvml.ECCUncorrected, 1},
	store.GPUCorrectedEver: {nvml.ECCCorrectedEver, 1}, store.GPUUncorrectedEver: {nvml.ECCUncorrectedEver, 1},
	store.GPUMIG: {nvml.MIG, 1},
}

// snapshotOf is a reading as the recording has it.
func snapshotOf(r *nvml.Reading) store.GPUSnapshot {
	s := store.GPUSnapshot{At: uint64(r.At.UnixNano()), GPU: r.GPU}
	var values [store.NumGPUColumns]int64
	for c, of := range columns {
		v, ok := r.Value(of.field)
		if !ok || v>>63 != 0 {
			s.Unknown |= 1 << c
			continue
		}
		values[c] = int64(v / of.unit)
	}
	s.SetValues(values)
	return s
}

// close ends the reading. It may be called on nil, and twice.
func (g *gpus) close() {
	if g != nil {
		g.reader.Close()
	}
}
