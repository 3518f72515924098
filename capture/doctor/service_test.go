package doctor

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheServiceOfThePackages(t *testing.T) {
	t.Parallel()
	const systemd, unit = "run/systemd/system", "usr/lib/systemd/system/ingero.service"
	for _, c := range []struct {
		name string
		is   []string // what is there
		want Service
	}{
		{"nothing", nil, NoService},
		{"systemd", []string{systemd}, NoService},
		{"an image made of the package", []string{unit}, NoService},
		{"installed", []string{systemd, unit}, ServiceStopped},
		{"another runs", []string{systemd, unit, "sys/fs/cgroup/system.slice/ingero-echo.service"}, ServiceStopped},
		{"it runs", []string{systemd, unit, "sys/fs/cgroup/system.slice/ingero.service"}, ServiceRuns},
		{"it runs, cgroups of version 1", []string{systemd, unit, "sys/fs/cgroup/systemd/system.slice/ingero.service"}, ServiceRuns},
	} {
		root := t.TempDir()
		for _, path := range c.is {
			if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := service(root, filepath.Join(root, "sys")); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
