package nvml_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/nvml"
)

func TestACrashedHelperIsStartedAgainAndTheLossCounted(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	lib := standIn(t, "gpus=1")
	r := start(t, nvml.Options{Dirs: []string{lib.Dir}, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	until(t, r, "a reading", readings(1))
	pid := r.State().PID
	set := func(settings ...string) {
		t.Helper()
		if err := lib.Set(settings...); err != nil {
			t.Fatal(err)
		}
	}
	set("gpus=1", "crash.nvmlDeviceGetTemperature=1")
	// On a busy machine rounds are missed before the helper ends, too.
	until(t, r, "the loss", func(a *nvml.Taken) bool { return a.Missed >= 3 && r.State().Err != nil })
	if s := r.State(); s.Err == nil || !strings.Contains(s.Err.Error(), "the helper ended (signal: ") {
		t.Errorf("state %+v", s)
	}
	set("gpus=1")
	until(t, r, "a reading", readings(1))
	if s := r.State(); s.Err != nil || s.PID == pid {
		t.Errorf("state %+v, pid before %d", s, pid)
	}
	r.Close()
	if n := strings.Count(said.String(), "no readings of GPUs for now"); n != 1 {
		t.Errorf("said %d times:\n%s", n, said.String())
	}
}

// A call that does not return holds up nobody, and the helper is replaced.
func TestAHangingLibraryDoesNotBlockTheReader(t *testing.T) {
	t.Parallel()
	lib := standIn(t, "gpus=1")
	// A second helper may start before the library is set not to hang, and then hangs from its first call on.
	r := start(t, nvml.Options{
		Dirs: []string{lib.Dir}, ReadPatience: 200 * time.Millisecond, StartPatience: 5 * time.Second,
	})
	until(t, r, "a reading", readings(1))
	pid := r.State().PID
	if err := lib.Set("gpus=1", "hang.nvmlDeviceGetMemoryInfo_v2=1"); err != nil {
		t.Fatal(err)
	}
	until(t, r, "the loss", func(a *nvml.Taken) bool {
		began := time.Now()
		r.Take()
		if d := time.Since(began); d > time.Second {
			t.Errorf("Take took %s", d)
		}
		return r.State().Err != nil
	})
	if s := r.State(); !strings.Contains(s.Err.Error(), "a call into the driver did not return for 200ms") {
		t.Errorf("state %+v", s)
	}
	if err := lib.Set("gpus=1"); err != nil {
		t.Fatal(err)
	}
	until(t, r, "a reading", readings(1))
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("helper %d: %v", pid, err)
	}
}

func TestClosingEndsTheHelper(t *testing.T) {
	t.Parallel()
	r := start(t, nvml.Options{Dirs: []string{standIn(t).Dir}})
	until(t, r, "a reading", readings(1))
	pid := r.State().PID
	r.Close()
	r.Close()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("helper %d: %v", pid, err)
	}
}

// hostEnv names the folder of a library that a copy of this test is to read.
const hostEnv = "INGERO_TEST_NVML_HOST"

func TestMain(m *testing.M) {
	if dir := os.Getenv(hostEnv); dir != "" {
		host(dir)
	}
	os.Exit(m.Run())
}

// host reads, says who its helper is, and waits to be killed.
func host(dir string) {
	r := nvml.Start(nvml.Options{Dirs: []string{dir}, Only: true, Period: quick})
	for len(r.Take().Readings) == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println(r.State().PID)
	select {}
}

// Not even one that hangs in the library outlives this process, however that ends.
func TestAKilledProcessLeavesNoHelper(t *testing.T) {
	t.Parallel()
	lib := standIn(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hostEnv+"="+lib.Dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil || syscall.Kill(pid, 0) != nil {
		t.Fatalf("helper %d: %v", pid, err)
	}
	if err := lib.Set("hang.nvmlDeviceGetUtilizationRates=1", "hang.nvmlEventSetWait_v2=1"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * quick) // it hangs by then; if not, the end of its input has to do
	cmd.Process.Kill()
	cmd.Wait()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(b, []byte(") Z ")) { // nobody may collect it here
			return
		}
		if time.Now().After(end) {
			t.Fatalf("helper %d runs on: %s", pid, b)
		}
	}
}

// The CPU time of a helper still counts after it has ended. That of its start is reported apart from its readings.
func TestTheCPUTimeOfReadingIsTold(t *testing.T) {
	t.Parallel()
	const start, reading = 60 * time.Millisecond, 10 * time.Millisecond
	settings := []string{"gpus=1", "burn.nvmlInit_v2=60", "burn.nvmlDeviceGetTemperature=10"}
	lib := standIn(t, settings...)
	r := nvml.Start(nvml.Options{Dirs: []string{lib.Dir}, Only: true, Period: quick, Pause: quick})
	t.Cleanup(r.Close)
	state := func(after int, rounds uint64) (s nvml.State) { // of a helper other than after
		t.Helper()
		until(t, r, "readings", func(*nvml.Taken) bool {
			s = r.State()
			return s.PID != 0 && s.PID != after && s.Rounds >= rounds
		})
		return s
	}
	if _, ok := new(nvml.State).PerReading(); ok {
		t.Error("there was no reading, but it has a cost")
	}
	s := state(0, 5)
	// Clocks of whole milliseconds: a burn may be one short.
	each, ok := s.PerReading()
	if !ok || each < reading-time.Millisecond || s.First < start+reading-2*time.Millisecond || each >= s.First {
		t.Errorf("each reading %s, first %s; state %+v", each, s.First, s)
	}
	if s.Used != s.CPU {
		t.Errorf("all helpers used %s, the only one %s", s.Used, s.CPU)
	}
	if err := lib.Set(append(settings, "crash.nvmlDeviceGetPowerUsage=1")...); err != nil {
		t.Fatal(err)
	}
	until(t, r, "the end", func(*nvml.Taken) bool { return r.State().Err != nil })
	if err := lib.Set(settings...); err != nil {
		t.Fatal(err)
	}
	next := state(s.PID, 2)
	if next.Used < s.Used+start-time.Millisecond || next.CPU >= next.Used {
		t.Errorf("both helpers used %s, the first one at least %s, the second one %s", next.Used, s.Used, next.CPU)
	}
}
