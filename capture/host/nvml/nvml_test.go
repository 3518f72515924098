package nvml_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/nvml"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/nvidiatest"
)

// quick is a period at which tests need not wait.
const quick = 20 * time.Millisecond

// standIn writes the stand-in library with settings.
func standIn(t *testing.T, settings ...string) *cudastub.NVML {
	t.Helper()
	n, err := cudastub.ExtractNVML(t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func start(t *testing.T, o nvml.Options) *nvml.Reader {
	t.Helper()
	if o.Period == 0 {
		o.Period = quick
	}
	if o.Pause == 0 {
		o.Pause = quick
	}
	o.Only = true
	r := nvml.Start(o)
	t.Cleanup(r.Close)
	return r
}

// until takes what comes until it is as it should be.
func until(t *testing.T, r *nvml.Reader, what string, ok func(*nvml.Taken) bool) nvml.Taken {
	t.Helper()
	var all nvml.Taken
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		got := r.Take()
		all.Readings = append(all.Readings, got.Readings...)
		all.Xids = append(all.Xids, got.Xids...)
		all.Devices = append(all.Devices, got.Devices...)
		all.Missed += got.Missed
		if ok(&all) {
			return all
		}
	}
	t.Fatalf("%s did not come; state %+v, got %+v", what, r.State(), all)
	return all
}

func readings(n int) func(*nvml.Taken) bool {
	return func(a *nvml.Taken) bool { return len(a.Readings) >= n }
}

func TestReadingsAreWhatTheLibrarySays(t *testing.T) {
	t.Parallel()
	lib := standIn(t, "gpus=2", "driver=550.54.15", "nvml=12.550.54.15", "name=NVIDIA H100 80GB HBM3",
		"util=97", "util.1=0", "util_mem=41", "mem_used=74485596160", "mem_reserved=502267904", "mem_total=85520809984", "clock_sm=1200",
		"clock_mem=2619",
		"max_sm=1980", "temp=84", "temp.1=35", "power=689123", "power_limit=700000", "reasons=0x60", "ecc_corrected=3",
		"ecc_uncorrected=1", "ecc_corrected_ever=12", "ecc_uncorrected_ever=2", "mig.1=1",
		"process=0:4711:74000000000", "process=0:4712:18446744073709551615", "process=1:4713:5")
	before := time.Now()
	r := start(t, nvml.Options{Dirs: []string{lib.Dir}})
	all := until(t, r, "readings", readings(4))
	want := map[nvml.Field]uint64{
		nvml.Util: 97, nvml.UtilMem: 41, nvml.MemUsed: 74485596160, nvml.MemTotal: 85520809984, nvml.ClockSM: 1200,
		nvml.ClockMem: 2619,
		nvml.MaxSM:    1980, nvml.Temp: 84, nvml.Power: 689123, nvml.PowerLimit: 700000, nvml.Reasons: 0x60,
		nvml.ECCCorrected:   3,
		nvml.ECCUncorrected: 1, nvml.ECCCorrectedEver: 12, nvml.ECCUncorrectedEver: 2, nvml.MIG: 0, nvml.Processes: 2,
		nvml.Xids: 0,
	}
	for i := range all.Readings[:4] {
		g := &all.Readings[i]
		if g.GPU != i%2 || g.At.Before(before) || g.At.After(time.Now()) {
			t.Errorf("reading %d is of GPU %d, %s after the start", i, g.GPU, g.At.Sub(before))
		}
		for _, f := range nvml.Fields() {
			exp := want[f]
			if g.GPU == 1 {
				switch f {
				case nvml.Util:
					exp = 0
				case nvml.Temp:
					exp = 35
				case nvml.MIG, nvml.Processes:
					exp = 1
				}
			}
			if v, ok := g.Value(f); !ok || v != exp {
				t.Errorf("GPU %d, %s: %d, %v (%s), want %d", g.GPU, f, v, ok, g.Status(f), exp)
			}
		}
	}
	if got, want := all.Readings[0].Processes,
		[]nvml.ProcessMemory{{PID: 4711, Bytes: 74000000000, Known: true}, {PID: 4712}}; !slices.Equal(got, want) {
		t.Errorf("processes %+v", got)
	}
	if got, want := all.Readings[1].Processes,
		[]nvml.ProcessMemory{{PID: 4713, Bytes: 5, Known: true}}; !slices.Equal(got, want) {
		t.Errorf("processes of the other GPU %+v", got)
	}
	wantDevices := []nvml.Device{
		{GPU: 0, Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-0000-0000-000000000000", BusID: "00000000:01:00.0"},
		{GPU: 1, Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-0000-0000-000000000001", BusID: "00000000:02:00.0"},
	}
	if !slices.Equal(all.Devices, wantDevices) {
		t.Errorf("devices %+v", all.Devices)
	}
	s := r.State()
	if s.Err != nil || s.Driver != (nvml.Driver{Version: "550.54.15", NVML: "12.550.54.15", GPUs: 2}) || s.Rounds < 2 ||
		s.CPU <= 0 {
		t.Errorf("state %+v", s)
	}
}

// without takes a function out of a library, as it is missing in older ones.
func without(t *testing.T, path, function string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := []byte("\x00" + function + "\x00")
	other := bytes.ReplaceAll(b, name, append(bytes.ToLower(name[:len(name)-2]), '_', 0))
	if bytes.Equal(b, other) {
		t.Fatalf("%s has no %s", path, function)
	}
	if err := os.WriteFile(path, other, 0o755); err != nil {
		t.Fatal(err)
	}
}

// What a GPU, a driver or the permissions keep back is missing alone.
func TestOnlyUnreadableFieldsAreMissing(t *testing.T) {
	t.Parallel()
	lib := standIn(t, "gpus=2", "util=97", "temp=84", "fail.nvmlDeviceGetTotalEccErrors=3",
		"fail.nvmlDeviceGetComputeRunningProcesses_v2=4",
		"fail.nvmlDeviceRegisterEvents=3", "fail.nvmlDeviceGetHandleByIndex_v2.1=15")
	without(t, lib.Path, "nvmlDeviceGetPowerUsage")
	r := start(t, nvml.Options{Dirs: []string{lib.Dir}})
	all := until(t, r, "readings", readings(2))
	missing := map[nvml.Field]nvml.Status{
		nvml.Power: nvml.FunctionNotFound, nvml.ECCCorrected: nvml.NotSupported, nvml.ECCUncorrected: nvml.NotSupported,
		nvml.ECCCorrectedEver: nvml.NotSupported, nvml.ECCUncorrectedEver: nvml.NotSupported,
		nvml.Processes: nvml.NoPermission, nvml.Xids: nvml.NotSupported,
	}
	for _, f := range nvml.Fields() {
		if got := all.Readings[0].Status(f); got != missing[f] {
			t.Errorf("%s: %q, want %q", f, got, missing[f])
		}
		if got := all.Readings[1].Status(f); got != nvml.GPULost {
			t.Errorf("%s of the lost GPU: %q", f, got)
		}
	}
	if v, ok := all.Readings[0].Value(nvml.Temp); v != 84 || !ok {
		t.Errorf("temperature %d, %v", v, ok)
	}
	if all.Devices[1].Lost != nvml.GPULost {
		t.Errorf("devices %+v", all.Devices)
	}
}

// NVML's first function for memory counts what the driver reserves as used, unlike nvidia-smi.
func TestReservedMemoryIsUsedOnlyIfTheLibraryCannotTell(t *testing.T) {
	t.Parallel()
	const used, reserved, total = 865 << 20, 479 << 20, 81559 << 20
	settings := []string{
		"gpus=1", fmt.Sprintf("mem_used=%d", used), fmt.Sprintf("mem_reserved=%d", reserved), fmt.Sprintf("mem_total=%d", total),
	}
	for _, tt := range []struct {
		name, without, fail string
		want                uint64
	}{
		{"counted apart", "", "", used},
		{"library without the second function", "nvmlDeviceGetMemoryInfo_v2", "", used + reserved},
		{"library without the first function", "nvmlDeviceGetMemoryInfo", "", used},
		{"the second function refuses", "", "fail.nvmlDeviceGetMemoryInfo_v2=25", used + reserved},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lib := standIn(t, append(slices.Clone(settings), tt.fail)...)
			if tt.without != "" {
				without(t, lib.Path, tt.without)
			}
			all := until(t, start(t, nvml.Options{Dirs: []string{lib.Dir}}), "a reading", readings(1))
			if v, ok := all.Readings[0].Value(nvml.MemUsed); !ok || v != tt.want {
				t.Errorf("used %d, %v, want %d", v, ok, tt.want)
			}
			if v, ok := all.Readings[0].Value(nvml.MemTotal); !ok || v != total {
				t.Errorf("total %d, %v, want %d", v, ok, total)
			}
		})
	}
}

func TestXidErrorsAreReported(t *testing.T) {
	t.Parallel()
	lib := standIn(t, "gpus=2")
	r := start(t, nvml.Options{Dirs: []string{lib.Dir}, Period: 200 * time.Millisecond})
	until(t, r, "readings", readings(2))
	before := time.Now()
	if err := lib.Set("gpus=2", "xid=1:1:79"); err != nil {
		t.Fatal(err)
	}
	all := until(t, r, "an error", func(a *nvml.Taken) bool { return len(a.Xids) > 0 })
	if x := all.Xids[0]; x.Code != 79 || x.GPU != 1 || x.At.Before(before) || len(all.Xids) != 1 {
		t.Errorf("%+v", all.Xids)
	}
}

// The helper has no user's rights, no capabilities, and can get none.
func TestTheHelperHasNoPrivileges(t *testing.T) {
	t.Parallel()
	inherited, err := syscall.Dup(0) // not closed on exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	r := start(t, nvml.Options{Dirs: []string{standIn(t).Dir}})
	until(t, r, "readings", readings(1))
	s := r.State()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID))
	open = slices.DeleteFunc(open, func(e os.DirEntry) bool { // the stand-in opens itself now and then
		of, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", s.PID, e.Name()))
		return e.Name() != "3" && (err != nil || strings.HasSuffix(of, "libnvidia-ml.so.1"))
	})
	if err != nil || len(open) != 4 {
		t.Errorf("open are %v (%v), want standard input, output, error and the library", open, err)
	}
	uid := os.Geteuid()
	if uid == 0 {
		uid = 65534
	}
	for _, want := range []string{
		"Name:\tingero-nvml\n", fmt.Sprintf("Uid:\t%d\t%[1]d\t%[1]d\t%[1]d\n", uid), "NoNewPrivs:\t1\n",
		"CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "CapInh:\t0000000000000000\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%q is not in\n%s", want, b)
		}
	}
}

// A library that others can change is loaded by its owner, or not at all.
func TestAUsersLibraryIsLoadedByThatUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	lib := standIn(t)
	if err := os.Chown(lib.Path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	r := start(t, nvml.Options{Dirs: []string{lib.Dir}})
	until(t, r, "readings", readings(1))
	info, err := os.Stat(fmt.Sprintf("/proc/%d", r.State().PID))
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 12345 {
		t.Errorf("user %d", uid)
	}
}

// What is missing or does not work is said, not made up for.
func TestMissingReadingsAreExplained(t *testing.T) {
	t.Parallel()
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "libnvidia-ml.so.1"), []byte("not a library"), 0o755); err != nil {
		t.Fatal(err)
	}
	bare := standIn(t)
	without(t, bare.Path, "nvmlInit_v2")
	for _, tt := range []struct{ name, dir, want string }{
		{"no library", t.TempDir(), "libnvidia-ml.so.1 is not installed"},
		{"no ELF file", broken, "libnvidia-ml.so.1 is not installed"},
		{"no function", bare.Dir, "find a function of NVML: nvmlInit_v2"},
		{
			"no driver", standIn(t, "fail.nvmlInit_v2=9").Dir,
			"initialise NVML: nvmlInit_v2: Driver Not Loaded (driver not loaded)",
		},
		{"other version", standIn(t, "fail.nvmlInit_v2=18").Dir, "(driver and library differ in version)"},
		{
			"no count", standIn(t, "fail.nvmlDeviceGetCount_v2=999").Dir,
			"count GPUs: nvmlDeviceGetCount_v2: a stand-in's error (unknown error)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			r := start(t, nvml.Options{Dirs: []string{tt.dir}, Logger: slog.New(slog.NewTextHandler(&said, nil))})
			until(t, r, "an error", func(*nvml.Taken) bool { return r.State().Err != nil })
			if err := r.State().Err; !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
			r.Close()
			if got := r.Take(); len(got.Readings) != 0 || got.Missed != 0 || said.Len() != 0 {
				t.Errorf("%+v, said %q", got, said.String())
			}
		})
	}
}

// NVIDIA's own library, where there is no driver.
func TestNVIDIAsLibraryWithoutADriverIsAnError(t *testing.T) {
	t.Parallel()
	dir := nvidiatest.Folder(t, "libnvidia-ml.so.1")
	noDriver(t)
	r := start(t, nvml.Options{Dirs: []string{dir}})
	until(t, r, "an error", func(*nvml.Taken) bool { return r.State().Err != nil })
	var f *nvml.Failure
	if err := r.State().Err; !errors.As(err, &f) || f.Code != nvml.DriverNotLoaded || f.Stage != nvml.StageInit {
		t.Errorf("%v", err)
	}
}

func noDriver(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/driver/nvidia/version"); err == nil {
		t.Skip("there is a driver")
	}
}
