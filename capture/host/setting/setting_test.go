package setting_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/host/setting"
	"github.com/ingero-io/ingero/event"
)

// tree writes files below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestSettingsOfAMachine(t *testing.T) {
	root := tree(t, map[string]string{
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
		"sys/kernel/mm/transparent_hugepage/enabled":                      "always [madvise] never\n",
		"sys/kernel/mm/transparent_hugepage/defrag":                       "",
		"proc/sys/kernel/numa_balancing":                                  "1\n",
	})
	got := setting.Machine(filepath.Join(root, "proc"), filepath.Join(root, "sys"))
	want := map[string]string{event.SettingClockSource: "hpet", event.SettingHugePages: "madvise", event.SettingNUMABalancing: "1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Only the variables of a list are read: the value of any other may be a secret.
func TestSettingsOfAProcess(t *testing.T) {
	root := tree(t, map[string]string{
		"7/environ": "OMP_NUM_THREADS=64\x00API_KEY=secret\x00OMP_NUM_THREADS_X=1\x00KMP_BLOCKTIME=\x00NCCL_ALGO=" +
			string(make([]byte, 300)) + "\x00MALLOC_ARENA_MAX=\xff2\x00",
		"7/limits": "Limit                     Soft Limit           Hard Limit           Units     \n" +
			"Max locked memory         8388608              unlimited            bytes     \n" +
			"Max open files            1024                 524288               files     \n",
		"8/environ": "",
	})
	fs := proc.New(root)
	want := map[string]string{
		"OMP_NUM_THREADS": "64", "KMP_BLOCKTIME": "", "NCCL_ALGO": "", "MALLOC_ARENA_MAX": "2",
		"rlimit.memlock": "8388608", "rlimit.nofile": "1024",
	}
	if d := cmp.Diff(want, setting.Process(fs, 7)); d != "" {
		t.Error(d)
	}
	for _, pid := range []int{8, 9} {
		if got := setting.Process(fs, pid); len(got) != 0 {
			t.Errorf("process %d has %v", pid, got)
		}
	}
}

func TestThisMachineHasSettings(t *testing.T) {
	if got := setting.Machine("", ""); got["swappiness"] == "" {
		t.Errorf("settings %v", got)
	}
	t.Setenv("OMP_NUM_THREADS", "3")
	if got := setting.Process(proc.New(""), os.Getpid()); got["rlimit.nofile"] == "" {
		t.Errorf("this process has the settings %v", got)
	}
}
