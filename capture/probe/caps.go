package probe

import (
	"golang.org/x/sys/unix"
)

// hasTracingCaps reports whether this process may load tracing programs without
// being root: CAP_BPF and CAP_PERFMON (kernel 5.8), or CAP_SYS_ADMIN.
func hasTracingCaps() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	has := func(c int) bool { return data[c/32].Effective&(1<<(c%32)) != 0 }
	return has(unix.CAP_SYS_ADMIN) || has(unix.CAP_BPF) && has(unix.CAP_PERFMON)
}
