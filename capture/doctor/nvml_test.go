package doctor

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/nvml"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/nvidiatest"
)

func TestCheckSaysWhatOfTheGPUsIsRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		settings []string // nil: no library
		status   Status
		detail   []string
		remedy   string
	}{
		{"no library", nil, Info, []string{"libnvidia-ml.so.1 is not installed, so GPUs are not read"}, ""},
		{
			"all is read",
			[]string{"gpus=1", "driver=550.54.15"},
			OK,
			[]string{"1 GPU is read each second through ", "driver 550.54.15, NVML 12.535.261.03; a reading takes "},
			"",
		},
		{"no GPU", []string{"gpus=0"}, OK, []string{"0 GPUs are read"}, ""},
		{
			"something is not told",
			[]string{
				"gpus=3", "fail.nvmlDeviceGetTotalEccErrors=3", "fail.nvmlDeviceRegisterEvents=4",
				"fail.nvmlDeviceGetPowerUsage.1=3", "fail.nvmlDeviceGetHandleByIndex_v2.2=15",
			},
			Info,
			[]string{
				"3 GPUs are read",
				"not told: anything of GPU 2 (the GPU is lost); power of GPU 1 (not supported); corrected ECC errors, " +
					"uncorrected ECC errors, corrected ECC errors ever, uncorrected ECC errors ever of GPU 0, 1 (not supported); " +
					"Xid errors of GPU 0, 1 (no permission)",
			},
			"",
		},
		{"no driver", []string{"fail.nvmlInit_v2=9"}, Info, []string{"GPUs are not read: initialise NVML: nvmlInit_v2: " +
			"Driver Not Loaded (driver not loaded)"}, "without a GPU"},
		{
			"other version",
			[]string{"fail.nvmlInit_v2=18"},
			Warning,
			[]string{"driver and library differ in version"},
			"reboot",
		},
		{"no permission", []string{"fail.nvmlInit_v2=4"}, Warning, []string{"no permission"}, "/dev/nvidiactl"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.settings != nil {
				lib, err := cudastub.ExtractNVML(dir, tt.settings...)
				if err != nil {
					t.Fatal(err)
				}
				dir = lib.Dir
			}
			c := look(t, dir)
			if c.Status != tt.status || !strings.Contains(c.Remedy, tt.remedy) || tt.remedy == "" && c.Remedy != "" {
				t.Errorf("%+v", c)
			}
			for _, want := range tt.detail {
				if !strings.Contains(c.Detail, want) {
					t.Errorf("%q is not in %q", want, c.Detail)
				}
			}
		})
	}
}

// look is the check with the library of a folder.
func look(t *testing.T, dir string) Check {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s := nvml.Look(ctx, nvml.Options{Dirs: []string{dir}, Only: true})
	return nvmlCheck(&s)
}

// The start is dear, and is not what each second costs.
func TestCheckSaysWhatAReadingCosts(t *testing.T) {
	t.Parallel()
	c := nvmlCheck(&nvml.Seen{State: nvml.State{
		Rounds: 5, CPU: 25400 * time.Microsecond, First: 24730 * time.Microsecond, Driver: nvml.Driver{GPUs: 1},
	}})
	if !strings.HasSuffix(c.Detail, "a reading takes 170µs of CPU, and the start with the first one 24.73ms") {
		t.Error(c.Detail)
	}
}

// NVIDIA's own library says what the stand-in does.
func TestCheckWithNVIDIAsLibrary(t *testing.T) {
	t.Parallel()
	dir := nvidiatest.Folder(t, "libnvidia-ml.so.1")
	if _, err := os.Stat("/proc/driver/nvidia/version"); err == nil {
		t.Skip("there is a driver")
	}
	c := look(t, dir)
	if c.Status != Info || !strings.Contains(c.Detail,
		"initialise NVML: nvmlInit_v2: Driver Not Loaded (driver not loaded)") || c.Remedy == "" {
		t.Errorf("%+v", c)
	}
}
