package nvml

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Seen is the result of Look.
type Seen struct {
	State
	Devices  []Device
	Readings []Reading // the last of each GPU
}

// Look reads the GPUs, or says in State.Err why it cannot. It reads them several times, because the
// first reading costs more than each later one, and returns the last. It stops when ctx is done.
func Look(ctx context.Context, o Options) Seen {
	const (
		step   = 5 * time.Millisecond
		period = 50 * time.Millisecond
		rounds = 5
	)
	if o.Period == 0 {
		o.Period = period
	}
	r := Start(o)
	defer r.Close()
	var s Seen
	for {
		t := r.Take()
		s.Devices = append(s.Devices, t.Devices...)
		s.latest(t.Readings)
		if s.State = r.State(); s.Err != nil || s.Rounds >= rounds && (len(s.Readings) > 0 || s.Driver.GPUs == 0) {
			return s
		}
		select {
		case <-ctx.Done():
			s.Err = errors.New("NVML does not answer")
			return s
		case <-time.After(step):
		}
	}
}

// latest keeps the last reading of each GPU.
func (s *Seen) latest(readings []Reading) {
	for _, r := range readings {
		if n := slices.IndexFunc(s.Readings, func(old Reading) bool { return old.GPU == r.GPU }); n >= 0 {
			s.Readings[n] = r
		} else {
			s.Readings = append(s.Readings, r)
		}
	}
}

// Missing lists the values that could not be read, with the reason and the GPUs.
func (s *Seen) Missing() []Missing {
	var list []Missing
	for _, f := range Fields() {
		for i := range s.Readings {
			status := s.Readings[i].Status(f)
			if status == 0 {
				continue
			}
			n := slices.IndexFunc(list, func(m Missing) bool { return m.Field == f && m.Why == status })
			if n < 0 {
				list = append(list, Missing{Field: f, Why: status})
				n = len(list) - 1
			}
			list[n].GPUs = append(list[n].GPUs, s.Readings[i].GPU)
		}
	}
	return list
}

// Missing is a value that could not be read.
type Missing struct {
	Field Field
	Why   Status
	GPUs  []int
}
