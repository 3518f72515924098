package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/vm"
)

// mounts are the file systems that programs expect. Tracefs is not among them: the
// tracer does not need it.
var mounts = []struct{ kind, on string }{
	{"proc", "/proc"},
	{"sysfs", "/sys"},
	{"devtmpfs", "/dev"},
	{"tmpfs", "/tmp"},
	{"tmpfs", "/run"},
	{"bpf", "/sys/fs/bpf"},
	{"cgroup2", "/sys/fs/cgroup"},
}

func prepare() error {
	for _, m := range mounts {
		if err := os.MkdirAll(m.on, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.on, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.on, err)
		}
	}
	if err := os.Symlink("/proc/self/fd", "/dev/fd"); err != nil {
		return err
	}
	if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory +cpu"), 0); err != nil {
		return fmt.Errorf("allow limits of control groups: %w", err)
	}
	for key, value := range map[string]string{
		"PATH": "/bin", "HOME": "/root", "TMPDIR": "/tmp", "INGERO_REQUIRE_KERNEL": "1", vm.GuestEnv: "1",
	} {
		if err := os.Setenv(key, value); err != nil {
			return err
		}
	}
	return loopback()
}

// loopback brings the loopback interface up.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("switch lo on: %w", err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("switch lo on: %w", err)
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r); err != nil {
		return fmt.Errorf("switch lo on: %w", err)
	}
	return nil
}
