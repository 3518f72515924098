package node

import (
	"github.com/ingero-io/ingero/cluster/ownwork"
	"github.com/ingero-io/ingero/store"
)

// clocks maps processes to GPUs, and keeps readings of the GPUs' clocks. A process on several GPUs has the clock of
// the one that it used first: it is not known which of them a rank waits for.
type clocks struct {
	gpuOf    map[uint32]int // by process
	readings []store.GPUSnapshot
}

func newClocks() clocks { return clocks{gpuOf: map[uint32]int{}} }

func (c *clocks) takeClocks(b *store.Batch) {
	for i := range b.GPUMemory {
		m := &b.GPUMemory[i]
		at, known := c.gpuOf[m.PID]
		switch gone := m.Known && m.Bytes == 0; {
		case gone && known && at == m.GPU:
			delete(c.gpuOf, m.PID)
		case !gone && !known:
			c.gpuOf[m.PID] = m.GPU
		}
	}
	c.readings = append(c.readings, b.GPUs...)
}

// give passes the readings on to the processes of each GPU.
func (c *clocks) give(to *ownwork.Tracker) {
	for i := range c.readings {
		g := &c.readings[i]
		if g.ClockMHz <= 0 || g.MaxMHz <= 0 {
			continue
		}
		for pid, gpu := range c.gpuOf {
			if gpu == g.GPU {
				to.Clock(pid, g.At, min(1, float64(g.ClockMHz)/float64(g.MaxMHz)))
			}
		}
	}
	c.readings = c.readings[:0]
}
