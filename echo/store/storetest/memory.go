package storetest

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// Memory returns the memory of a process, and its peak since ForgetPeak, in bytes.
func Memory(t testing.TB, pid int) (now, peak int64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) int64 {
		m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(b)
		if m == nil {
			t.Fatalf("no %s in\n%s", name, b)
		}
		kB, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return kB << 10
	}
	return read("VmRSS"), read("VmHWM")
}

// ForgetPeak makes the peak of a process's memory what it has now.
func ForgetPeak(t testing.TB, pid int) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// watchMemory returns a function that fails the test if this process had more memory since then than it may have. If
// there are servers, the function looks by how much each has grown: what a server has without questions is its own.
func watchMemory(t *testing.T, servers []int) (peaks func(most int64)) {
	t.Helper()
	before := map[int]int64{os.Getpid(): 0} // what does not count
	if servers != nil {
		clear(before)
	}
	for _, pid := range servers {
		before[pid], _ = Memory(t, pid)
	}
	for pid := range before {
		ForgetPeak(t, pid)
	}
	return func(most int64) {
		t.Helper()
		for pid, without := range before {
			_, peak := Memory(t, pid)
			t.Logf("process %d had %d MB of memory at most; %d MB do not count", pid, peak/1e6, without/1e6)
			if peak-without >= most {
				t.Errorf("process %d took %d bytes of memory; %d are allowed", pid, peak-without, most)
			}
		}
	}
}
