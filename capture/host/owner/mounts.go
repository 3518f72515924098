package owner

import (
	"regexp"
	"strings"
)

// Mounts over some files of a container show its owner, also where control group namespaces hide
// the path.
var (
	kubeletMount = regexp.MustCompile(`(?:^|/)pods/([0-9a-f-]{32,36})/(?:etc-hosts|containers/([^/]+)/)`)
	dockerMount  = regexp.MustCompile(`(?:^|/)containers/([0-9a-f]{64})/(?:hostname|hosts|resolv\.conf)`)
	podmanMount  = regexp.MustCompile(`(?:^|/)(?:overlay|vfs|btrfs)-containers/([0-9a-f]{64})/userdata/`)
	sandboxMount = regexp.MustCompile(`io\.containerd\.`)
	telling      = map[string]bool{
		"/etc/hosts": true, "/etc/hostname": true, "/etc/resolv.conf": true,
		"/dev/termination-log": true,
	}
	podmanPrivate = regexp.MustCompile(`(?:^|/)containers/storage/`)
)

// fromMounts reads the owner from a process's mountinfo (proc_pid_mountinfo(5)). The files of a pod
// are mounted from its sandbox, which is a container of its own: its id is not that of the
// process's container.
func fromMounts(mountinfo string) Owner {
	var o Owner
	sandbox := ""
	for line := range strings.Lines(mountinfo) {
		f := strings.Fields(line)
		if len(f) < 5 || !telling[f[4]] {
			continue
		}
		root := f[3]
		if m := kubeletMount.FindStringSubmatch(root); m != nil {
			o.merge(Owner{PodUID: m[1], PodContainer: m[2]})
		}
		switch m := dockerMount.FindStringSubmatch(root); {
		case sandboxMount.MatchString(root):
			o.Runtime = "containerd"
		case podmanMount.MatchString(root):
			o.Runtime, sandbox = "podman", podmanMount.FindStringSubmatch(root)[1]
		case podmanPrivate.MatchString(root):
			o.Runtime = "podman"
		case m != nil:
			o.Runtime, sandbox = "docker", m[1]
		}
	}
	if o.PodUID == "" {
		o.Container = sandbox
	} else if o.Runtime == "podman" {
		o.Runtime = "cri-o" // stores its containers where podman does
	}
	return o
}
