package store

import (
	"cmp"
	"fmt"
)

// GPUSnapshot is one reading of a GPU. A value that could not be read is 0 and not Known.
type GPUSnapshot struct {
	At           uint64 // Unix ns at which it was read
	GPU          int    // NVML's index, in order of PCI bus ids; a process may number GPUs differently
	TempC        int    // of the core, degrees Celsius
	ClockMHz     int    // of the multiprocessors
	MaxMHz       int    // maximum of that clock
	UtilPct      int    // of the last sample period, the time in which any kernel was resident
	Reasons      uint64 // bits of Throttle*: why the clock is not higher
	MemMB        uint64 // in use, MiB
	TotalMB      uint64 // MiB, in total
	MemUtilPct   int    // of the last sample period, the time in which memory was read or written
	MemClockMHz  int    // of the memory
	PowerMW      int    // drawn, mW
	PowerLimitMW int    // that it may draw
	ECC          ECCErrors
	MIG          bool   // divided into instances; the driver then reports no utilisation
	Unknown      uint32 // bits 1<<GPUTemp and so on: what could not be read
}

// ECCErrors counts errors in a GPU's memory that its error-correcting code found.
type ECCErrors struct {
	Corrected, Uncorrected         uint64 // since the driver was loaded
	CorrectedEver, UncorrectedEver uint64 // in the GPU's life
}

// GPUColumn identifies a value of a GPUSnapshot. The numbers are not stored.
type GPUColumn uint8

// The values of a GPUSnapshot, in the order of the table's columns.
const (
	GPUTemp GPUColumn = iota
	GPUClock
	GPUMaxClock
	GPUUtil
	GPUReasons
	GPUMem
	GPUMemTotal
	GPUMemUtil
	GPUMemClock
	GPUPower
	GPUPowerLimit
	GPUCorrected
	GPUUncorrected
	GPUCorrectedEver
	GPUUncorrectedEver
	GPUMIG
	NumGPUColumns
)

// Known reports whether a value could be read.
func (g *GPUSnapshot) Known(c GPUColumn) bool { return g.Unknown>>c&1 == 0 }

// Values returns all values, indexed by GPUColumn.
func (g *GPUSnapshot) Values() [NumGPUColumns]int64 {
	mig := int64(0)
	if g.MIG {
		mig = 1
	}
	return [NumGPUColumns]int64{
		int64(g.TempC), int64(g.ClockMHz), int64(g.MaxMHz), int64(g.UtilPct), int64(g.Reasons), int64(g.MemMB),
		int64(g.TotalMB),
		int64(g.MemUtilPct), int64(g.MemClockMHz), int64(g.PowerMW), int64(g.PowerLimitMW),
		int64(g.ECC.Corrected), int64(g.ECC.Uncorrected), int64(g.ECC.CorrectedEver), int64(g.ECC.UncorrectedEver), mig,
	}
}

// SetValues is the reverse of Values.
func (g *GPUSnapshot) SetValues(v [NumGPUColumns]int64) {
	for c, to := range map[GPUColumn]*int{
		GPUTemp: &g.TempC, GPUClock: &g.ClockMHz, GPUMaxClock: &g.MaxMHz, GPUUtil: &g.UtilPct,
		GPUMemUtil: &g.MemUtilPct, GPUMemClock: &g.MemClockMHz, GPUPower: &g.PowerMW, GPUPowerLimit: &g.PowerLimitMW,
	} {
		*to = int(v[c])
	}
	g.Reasons, g.MemMB, g.TotalMB = uint64(v[GPUReasons]), uint64(v[GPUMem]), uint64(v[GPUMemTotal])
	g.ECC = ECCErrors{
		uint64(v[GPUCorrected]), uint64(v[GPUUncorrected]), uint64(v[GPUCorrectedEver]),
		uint64(v[GPUUncorrectedEver]),
	}
	g.MIG = v[GPUMIG] != 0
}

// Bits of GPUSnapshot.Reasons: the nvmlClocksEventReasons of nvml.h, formerly
// nvmlClocksThrottleReasons.
const (
	ThrottlePowerCap   uint64 = 0x04 // SwPowerCap: the power limit that was set
	ThrottleHW         uint64 = 0x08 // HwSlowdown: too hot, power brake or too much power drawn
	ThrottleSWThermal  uint64 = 0x20 // SwThermalSlowdown: above its target temperature
	ThrottleHWThermal  uint64 = 0x40 // HwThermalSlowdown: far above it
	ThrottlePowerBrake uint64 = 0x80 // HwPowerBrakeSlowdown: requested by the power supply
)

// GPUClockChange is a change of a GPU's clock, or of why it is not higher, between two readings. Only
// what both of them told is a change.
type GPUClockChange struct {
	At                     uint64 // Unix ns of the later reading
	GPU                    int    // as in GPUSnapshot
	FromMHz, ToMHz         int    // clock of the multiprocessors, MHz; both 0 if one of them is not known
	FromReasons, ToReasons uint64 // bits of Throttle*
	ReasonsUnknown         bool   // the reasons of one of the readings are not known; both are 0
}

// GPUDevice is a GPU of the machine.
type GPUDevice struct {
	GPU    int // as in GPUSnapshot
	Name   string
	UUID   string
	BusID  string // PCI address
	Driver string // version
	Node   int    // number of the memory node it is attached to, as in Session.Nodes; -1 if not known
}

// GPUProcess is the memory of a GPU that a process has from At on, as the driver reports it.
type GPUProcess struct {
	At    uint64 // Unix ns
	GPU   int    // as in GPUSnapshot
	PID   uint32
	Bytes uint64 // 0: no memory any more, unless not Known
	Known bool   // whether the driver reports the amount
}

// Xid is an error of a GPU that its driver reported.
type Xid struct {
	At   uint64 // Unix ns
	GPU  int    // as in GPUSnapshot; -1 if not known
	Code uint32
}

// xidNames are common errors, in the words of https://docs.nvidia.com/deploy/xid-errors.
var xidNames = map[uint32]string{
	8: "GPU stopped processing", 13: "graphics engine exception", 31: "GPU memory page fault",
	32: "invalid or corrupted push buffer stream",
	38: "driver firmware error", 43: "GPU stopped processing", 44: "graphics engine fault during context switch",
	45: "preemptive cleanup, due to previous errors", 46: "GPU stopped processing", 48: "double bit ECC error",
	61: "internal micro-controller breakpoint or warning", 62: "internal micro-controller halt",
	63: "ECC page retirement or row remapping recorded",
	64: "ECC page retirement or row remapper failed to record", 68: "NVDEC0 exception", 69: "graphics engine class error",
	74: "NVLink error",
	79: "GPU has fallen off the bus", 92: "high single-bit ECC error rate", 94: "contained ECC error",
	95:  "uncontained ECC error",
	109: "context switch timeout", 110: "security fault error", 119: "GSP RPC timeout", 120: "GSP error",
	121: "C2C link error",
	140: "unrecovered ECC error", 143: "GPU initialization failure",
}

// Fatal reports whether the GPU cannot be used after the error until it is reset, according to
// NVIDIA's list of errors.
func (x *Xid) Fatal() bool {
	switch x.Code {
	case 48, 62, 64, 79, 95, 119, 120, 140, 143:
		return true
	}
	return false
}

// Name describes the error; empty if it is not in xidNames.
func (x *Xid) Name() string { return xidNames[x.Code] }

// String names the error and its GPU: "GPU 0 reported Xid 79 (GPU has fallen off the bus)".
func (x *Xid) String() string {
	gpu := "a GPU"
	if x.GPU >= 0 {
		gpu = fmt.Sprintf("GPU %d", x.GPU)
	}
	return fmt.Sprintf("%s reported Xid %d (%s)", gpu, x.Code,
		cmp.Or(x.Name(), "see https://docs.nvidia.com/deploy/xid-errors"))
}
