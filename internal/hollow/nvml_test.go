package hollow_test

import (
	"maps"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/internal/hollow"
)

func TestTheManagementLibraryDescribesTheSameGPUs(t *testing.T) {
	dir := build(t)
	out := filepath.Join(t.TempDir(), "nvml")
	text, err := exec.Command("gcc", "-O1", "-Wall", "-Werror", "-o", out, "testdata/nvml.c",
		filepath.Join(dir, "libcuda.so.1"), filepath.Join(hollow.NVMLDir(dir), "libnvidia-ml.so.1")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	file := filepath.Join(t.TempDir(), "shared")
	if err := hollow.Set(file, "devices=3\nmemory=80GB"); err != nil {
		t.Fatal(err)
	}
	got := run(t, dir+":"+hollow.NVMLDir(dir), file, out)
	if want := map[string]string{"gpus": "3", "alike": "3", "unknown": "6"}; !maps.Equal(got, want) {
		t.Errorf("it says %v, want %v", got, want)
	}
}
