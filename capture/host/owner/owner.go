// Package owner finds what a process belongs to: the container, the Kubernetes pod, the Slurm job
// or the systemd unit, and its rank in a distributed job. It uses no daemon: everything comes from
// /proc and from files of the kubelet on its node. Unknown values stay empty.
package owner

import "strings"

// Owner is what a process belongs to.
type Owner struct {
	CgroupID  uint64 // number of the control group in the kernel and eBPF; 0 if unknown
	Container string // id, 64 hexadecimal digits with most runtimes
	Runtime   string // docker, containerd, cri-o, podman, nerdctl, lxc; empty if only the id is known

	// Of Kubernetes.
	PodUID, Namespace, Pod, PodContainer string

	SlurmJob, SlurmStep string // step: a number, or batch, extern, interactive
	Unit                string // systemd's, of processes in no container
	NSPID               uint32 // process id inside its own PID namespace, 0 if that is the initial one
}

// shortID is the number of shown digits of a container's id, as in docker.
const shortID = 12

// String describes the owner: "pod ml/train-0 container worker (containerd 1a2b3c4d5e6f)". It is
// empty for a process without one.
func (o Owner) String() string {
	var parts []string
	id := o.Container[:min(len(o.Container), shortID)]
	switch {
	case o.PodUID != "" || o.Pod != "":
		parts = append(parts, o.pod(id))
	case id != "" && o.Runtime != "":
		parts = append(parts, "container "+id+" ("+o.Runtime+")")
	case id != "":
		parts = append(parts, "container "+id)
	}
	if o.SlurmJob != "" {
		job := "Slurm job " + o.SlurmJob
		if o.SlurmStep != "" {
			job += " step " + o.SlurmStep
		}
		parts = append(parts, job)
	}
	if o.Unit != "" {
		parts = append(parts, "unit "+o.Unit)
	}
	return strings.Join(parts, ", ")
}

func (o Owner) pod(id string) string {
	s := "pod " + o.PodUID
	switch {
	case o.Pod != "" && o.Namespace != "":
		s = "pod " + o.Namespace + "/" + o.Pod
	case o.Pod != "":
		s = "pod " + o.Pod
	}
	if o.PodContainer != "" {
		s += " container " + o.PodContainer
	}
	if at := strings.TrimSpace(o.Runtime + " " + id); at != "" {
		s += " (" + at + ")"
	}
	return s
}
