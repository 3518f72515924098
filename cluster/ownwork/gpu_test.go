package ownwork_test

import (
	"testing"
	"time"
)

// A program that reads a value before its gradients are reduced waits for its own GPU: that is own work, with a count
// of its own. The wait after the reduction is not own work.
func TestWaitsForTheOwnGPUAreToldApart(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	j.ranks[1].gpuSlow = 1.5
	j.rounds(100, func() {
		j.work(10 * ms)
		j.launch(10, 2*ms)
		j.wait()
		j.collect(opReduce, "world", all, 1<<20)
		j.wait()
	})
	j.slowest(t, 1, 0.2)
	seen := map[int32]int{}
	for i := range j.steps {
		s := &j.steps[i]
		seen[s.Rank]++
		want := 20 * ms
		if s.Rank == 1 {
			want = 30 * ms
		}
		if d := s.GPU - want; d < -100*time.Microsecond || d > 100*time.Microsecond || s.GPU >= s.Own {
			t.Fatalf("rank %d, step %d: of %v own work %v for the GPU; want %v", s.Rank, s.Seq, s.Own, s.GPU, want)
		}
	}
	if len(seen) != 3 || seen[1] < 80 {
		t.Errorf("steps: %v", seen)
	}
}

func TestNoWaitForTheOwnGPU(t *testing.T) {
	j := newJob(3)
	j.join("world", all)
	j.rounds(100, j.ddp)
	if len(j.steps) < 200 {
		t.Fatalf("%d steps", len(j.steps))
	}
	for i := range j.steps {
		if s := &j.steps[i]; s.GPU != 0 {
			t.Fatalf("rank %d, step %d: %v for the GPU", s.Rank, s.Seq, s.GPU)
		}
	}
}
