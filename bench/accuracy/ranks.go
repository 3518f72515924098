package accuracy

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ingero-io/ingero/event"
)

// lateRank is a run of two ranks (ranks.py). The second one is late for each collective operation,
// or each second or third one, by its own fault. The path must show it in the state.
func lateRank(fault, state string) realCase {
	return realCase{
		program: ranks, fault: expect(fault, Culprit, state, event.CauseCollectiveWait),
		draw: func(d *draw) realRun {
			r := evenRanks("--fault", fault, "--every", d.between(1, 3), "--ms", d.between(25, 45))(d)
			r.args = append(r.args, "--after", "150")
			return r
		},
	}
}

// lateByHog is a second rank whose CPU another program uses: the rank must be named, and the path
// must lead on to the program.
var lateByHog = expect("late-hog", peer, "runnable", event.CauseCollectiveWait)

// lateByQuota is a second rank with too small a CPU quota; no other program is to blame.
var lateByQuota = expect("late-quota", peer, "throttled", event.CauseCollectiveWait)

// evenRanks are two ranks with the same work.
func evenRanks(more ...any) func(*draw) realRun {
	return func(d *draw) realRun {
		return realRun{
			args: append(arguments("--steps", 300, "--after", 300), arguments(more...)...),
			gpu:  fmt.Sprintf("devices=2;kernel.default=%dus", d.between(900, 1200)),
		}
	}
}

// hogBesideRank runs another program on the CPU of the second rank.
func hogBesideRank(d *draw, r *realRun) outside {
	here, there := d.twoCPUs()
	r.args = append(r.args, arguments("--pin", here, "--pin-late", there)...)
	return hog(d, there)
}

// quotaOfRank gives the second rank less of a CPU than it needs: it runs for about a third of a step.
func quotaOfRank(d *draw, r *realRun) outside {
	here, there := d.twoCPUs()
	r.args = append(r.args, arguments("--pin", here, "--pin-late", there)...)
	return limited(d, d.between(12, 20), func(s *surroundings) (int, error) {
		text, err := os.ReadFile(filepath.Join(s.dir, steadyFile)) // rank 0 has written it
		if err != nil {
			return 0, fmt.Errorf("find the second rank: %w", err)
		}
		return strconv.Atoi(string(text))
	})
}
