package store

// Throttle is how long a control group was throttled by its CPU quota in one second (cpu.stat:
// nr_throttled, throttled_usec or throttled_time).
type Throttle struct {
	At      uint64 // Unix ns, end of the second
	Cgroup  string
	Periods uint64 // throttled periods in the second
	NS      uint64 // time throttled, summed over CPUs

	QuotaUS, PeriodUS uint64 // CPU time allowed in each period; 0: not recorded
	Version           uint8  // of control groups, 1 or 2; 0: not recorded
}

// MemoryLimit is the memory limit of a process when it first reclaimed memory because of it.
type MemoryLimit struct {
	PID    uint32
	Cgroup string // path in the memory controller's hierarchy
	Bytes  uint64
}
