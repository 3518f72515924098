package probe

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// monotonicToUnix is what to add to CLOCK_MONOTONIC to get Unix time, in ns. It is
// measured once per recording, so that differences of times stay exact when the wall
// clock is adjusted. Of several samples, the one with the smallest error is used.
func monotonicToUnix() (uint64, error) {
	var best, offset int64 = 1 << 62, 0
	for range 16 {
		var a, w, b unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &a); err != nil {
			return 0, fmt.Errorf("read monotonic clock: %w", err)
		}
		if err := unix.ClockGettime(unix.CLOCK_REALTIME, &w); err != nil {
			return 0, fmt.Errorf("read wall clock: %w", err)
		}
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &b); err != nil {
			return 0, fmt.Errorf("read monotonic clock: %w", err)
		}
		if d := b.Nano() - a.Nano(); d < best {
			best, offset = d, w.Nano()-(a.Nano()+d/2)
		}
	}
	return uint64(offset), nil
}

// monotonic reads CLOCK_MONOTONIC, in ns.
func monotonic() (uint64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("read monotonic clock: %w", err)
	}
	return uint64(t.Nano()), nil
}
