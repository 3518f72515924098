package soak

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// clock steps the machine's clock forth and back. All programs see that, so it is done only where a variable says that
// the machine is the soak's own: the clock of a machine belongs to no namespace.
var clock = churner{
	name: "the clock set forth and back", after: 55 * time.Second, every: time.Minute, round: stepClock,
	unable: func() string {
		if !MayStep() {
			return StepEnv + "=1 is not set"
		}
		return ""
	},
}

// StepEnv is the variable.
const StepEnv = "INGERO_SOAK_CLOCK"

// MayStep reports whether the clock may be set.
func MayStep() bool { return os.Getenv(StepEnv) == "1" }

func stepClock(ctx context.Context, w *world) error {
	const by, long = 3 * time.Second, 2 * time.Second
	from := time.Now()
	err := step(by)
	wait(ctx, long)
	err = errors.Join(err, step(-by))
	w.excuse(from.Add(-by), time.Now().Add(2*by), "the clock was set")
	return err
}

func step(by time.Duration) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return err
	}
	return setClock(now.Nano() + int64(by))
}

func setClock(ns int64) error {
	to := unix.NsecToTimespec(ns)
	return unix.ClockSettime(unix.CLOCK_REALTIME, &to)
}

// Clock is where the machine's clock stands above one that nobody can set.
type Clock struct{ ahead int64 }

// ReadClock reads it.
func ReadClock() (c Clock, err error) {
	var wall, boot unix.Timespec
	err = errors.Join(unix.ClockGettime(unix.CLOCK_REALTIME, &wall), unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot))
	return Clock{wall.Nano() - boot.Nano()}, err
}

// Restore sets the clock to where it would be if it had not been stepped; less than a second is somebody else's.
func (c Clock) Restore() error {
	now, err := ReadClock()
	if off := now.ahead - c.ahead; err != nil || off < int64(time.Second) && off > -int64(time.Second) {
		return err
	}
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return err
	}
	return setClock(boot.Nano() + c.ahead)
}
