package owner

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// The names of containers' control groups: with systemd ("cri-containerd-ID.scope"), with groups
// made by the runtime (only the id, below a folder with a known name), and containerd's mixture of
// both ("kubepods-podUID.slice:cri-containerd:ID").
var (
	scopeID = regexp.MustCompile(`^(?:.*:)?(cri-containerd|crio|docker|libpod|nerdctl|cri-docker|containerd)` +
		`[-:]([0-9a-f]{64})(?:\.scope)?$`)
	bareID  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	podPart = regexp.MustCompile(`(?:^|[-/])pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})` +
		`(?:\.slice)?(?:$|[/:])`)
	jobPart = regexp.MustCompile(`/job_(\d+)(?:/step_(\w+))?(?:/|$)`)
	lxcPart = regexp.MustCompile(`/lxc(?:\.payload)?[./]([^/]+)`)
	session = regexp.MustCompile(`^(session-.*|init|user@\d+|slurmstepd.*|.*slurmstepd)\.(scope|service)$`)
)

// runtimes are the names of runtimes by the prefix of their groups, or by the folder of groups with
// only an id.
var runtimes = map[string]string{
	"cri-containerd": "containerd", "containerd": "containerd", "k8s.io": "containerd", "crio": "cri-o",
	"docker": "docker", "cri-docker": "docker", "libpod": "podman", "libpod_parent": "podman", "nerdctl": "nerdctl",
}

// FromPath reads the owner from a control group's path, in version 1 and 2.
func FromPath(path string) Owner {
	var o Owner
	if m := podPart.FindAllStringSubmatch(path, -1); m != nil { // the innermost: clusters may run in containers
		o.PodUID = strings.ReplaceAll(m[len(m)-1][1], "_", "-")
	}
	parts := strings.Split(path, "/")
	for i := len(parts) - 1; i > 0 && o.Container == ""; i-- {
		if m := scopeID.FindStringSubmatch(parts[i]); m != nil {
			o.Runtime, o.Container = runtimes[m[1]], m[2]
		} else if bareID.MatchString(parts[i]) {
			o.Runtime, o.Container = runtimes[parts[i-1]], parts[i]
		}
	}
	if m := lxcPart.FindStringSubmatch(path); m != nil && o.Container == "" {
		o.Runtime, o.Container = "lxc", m[1]
	}
	if m := jobPart.FindStringSubmatch(path); m != nil {
		o.SlurmJob, o.SlurmStep = m[1], m[2]
	}
	if o.Container == "" && o.PodUID == "" {
		o.Unit = unit(parts)
	}
	return o
}

// unit is the innermost service or scope that is more than a login session.
func unit(parts []string) string {
	for _, p := range slices.Backward(parts) {
		if strings.HasSuffix(p, ".service") || strings.HasSuffix(p, ".scope") {
			if session.MatchString(p) {
				return ""
			}
			return p
		}
	}
	return ""
}

// merge fills empty values of o from p.
func (o *Owner) merge(p Owner) {
	o.Container, o.Runtime = cmp.Or(o.Container, p.Container), cmp.Or(o.Runtime, p.Runtime)
	o.PodUID, o.Namespace = cmp.Or(o.PodUID, p.PodUID), cmp.Or(o.Namespace, p.Namespace)
	o.Pod, o.PodContainer = cmp.Or(o.Pod, p.Pod), cmp.Or(o.PodContainer, p.PodContainer)
	o.SlurmJob, o.SlurmStep = cmp.Or(o.SlurmJob, p.SlurmJob), cmp.Or(o.SlurmStep, p.SlurmStep)
	o.Unit = cmp.Or(o.Unit, p.Unit)
	if o.Container != "" || o.PodUID != "" {
		o.Unit = ""
	}
}
