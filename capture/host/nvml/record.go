package nvml

import (
	"bytes"
	"encoding/binary"
	"time"
)

// What the helper writes: helper/record.h.
const (
	recordSize = 256
	headSize   = 16 // kind, GPU, time
	statusAt   = headSize + 8*int(numFields)
	textSize   = 96
	busSize    = 32
	busAt      = headSize + 12
	textAt     = busAt + busSize
	otherAt    = textAt + textSize
)

type kind uint32

const (
	kindDriver kind = 1 + iota
	kindDevice
	kindReading
	kindProcess
	kindXid
	kindRound
	kindFailure
)

// maxGPUs and maxProcesses are helper.c's MAX_GPUS and MAX_PROCESSES; maxRound is how many records a round can have: of
// each GPU a device, a reading and an error for each process.
const (
	maxGPUs      = 64
	maxProcesses = 1024
	maxRound     = maxGPUs*(2+maxProcesses) + 1024
)

// noBytes is NVML_VALUE_NOT_AVAILABLE.
const noBytes = ^uint64(0)

// record is one record of the helper, not yet decoded.
type record [recordSize]byte

func (r *record) kind() kind     { return kind(binary.LittleEndian.Uint32(r[:])) }
func (r *record) gpu() int       { return int(binary.LittleEndian.Uint32(r[4:])) }
func (r *record) at() time.Time  { return time.Unix(0, int64(binary.LittleEndian.Uint64(r[8:]))) }
func (r *record) since() uint64  { return binary.LittleEndian.Uint64(r[8:]) } // a round's time, CLOCK_MONOTONIC ns
func (r *record) amount() uint64 { return binary.LittleEndian.Uint64(r[headSize:]) }
func (r *record) number() uint32 { return binary.LittleEndian.Uint32(r[headSize+8:]) }
func (r *record) bus() string    { return text(r[busAt : busAt+busSize]) }
func (r *record) text() string   { return text(r[textAt : textAt+textSize]) }
func (r *record) other() string  { return text(r[otherAt : otherAt+textSize]) }

// text is the text before the first zero. The library may return unprintable text.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(bytes.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, b))
}

func (r *record) driver() Driver {
	return Driver{Version: r.text(), NVML: r.other(), GPUs: int(r.number())}
}

func (r *record) device() Device {
	return Device{GPU: r.gpu(), Name: r.text(), UUID: r.other(), BusID: r.bus(), Lost: Status(r.number())}
}

func (r *record) reading() Reading {
	g := Reading{At: r.at(), GPU: r.gpu()}
	for f := range numFields {
		g.status[f] = Status(binary.LittleEndian.Uint16(r[statusAt+2*int(f):]))
		if g.status[f] == 0 {
			g.value[f] = binary.LittleEndian.Uint64(r[headSize+8*int(f):])
		}
	}
	return g
}

func (r *record) process() ProcessMemory {
	p := ProcessMemory{PID: r.number(), Bytes: r.amount(), Known: r.amount() != noBytes}
	if !p.Known {
		p.Bytes = 0
	}
	return p
}

func (r *record) xid(gpus int) Xid {
	x := Xid{At: r.at(), GPU: r.gpu(), Code: r.number()}
	if x.GPU >= gpus {
		x.GPU = -1
	}
	return x
}

func (r *record) failure() *Failure {
	f := &Failure{Stage: Stage(r.number()), Code: Status(uint32(r.amount())), Text: r.text()}
	if said := r.other(); said != "" {
		f.Text += ": " + said
	}
	return f
}
