package nvml

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Seen is what one look at the GPUs found.
type Seen struct {
	State
	Devices  []Device
	Readings []Reading // of each GPU
}

// Look reads the GPUs once, or says in State.Err why it cannot. It gives up when ctx is
// done.
func Look(ctx context.Context, o Options) Seen {
	const step = 5 * time.Millisecond
	r := Start(o)
	defer r.Close()
	var s Seen
	for {
		t := r.Take()
		s.Devices = append(s.Devices, t.Devices...)
		s.Readings = append(s.Readings, t.Readings...)
		if s.State = r.State(); s.Err != nil || s.Rounds > 0 && (len(s.Readings) > 0 || s.Driver.GPUs == 0) {
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

// Missing lists what could not be read of any GPU, with the reason, and of which.
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

// Missing is something that could not be read.
type Missing struct {
	Field Field
	Why   Status
	GPUs  []int
}
