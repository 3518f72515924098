package agent

import "time"

// Unwritten says that the recording cannot be written at present, as while the disk is full.
type Unwritten struct {
	Since time.Time
	Why   string // in words that follow "not recorded since …: "
}

// A recording that cannot be written is tried again after firstPause, and then after twice as long each time, up
// to lastPause.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// pause says whether a recording is written. The zero value is one that is.
type pause struct {
	Unwritten
	next time.Time     // of the next try
	wait time.Duration // before it
}

// on reports whether the recording is not written.
func (p *pause) on() bool { return p.wait != 0 }

// due reports whether the recording is to be written now: usually, and for a try.
func (p *pause) due(now time.Time) bool { return !p.on() || !now.Before(p.next) }

// failed is called when it could not be written, and reports whether it could before.
func (p *pause) failed(now time.Time, why string) (began bool) {
	if began = !p.on(); began {
		p.Since, p.wait = now, firstPause
	} else {
		p.wait = min(2*p.wait, lastPause)
	}
	p.Why, p.next = why, now.Add(p.wait)
	return began
}

// wrote is called when it was written. It returns what has ended, nil if nothing has.
func (p *pause) wrote() (ended *Unwritten) {
	ended = p.unwritten()
	*p = pause{}
	return ended
}

// unwritten is nil while the recording is written.
func (p *pause) unwritten() *Unwritten {
	if !p.on() {
		return nil
	}
	u := p.Unwritten
	return &u
}
