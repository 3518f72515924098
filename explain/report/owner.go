package report

import "fmt"

// Owner is what a process belongs to: container, pod, job or unit, and its rank.
type Owner struct {
	PID          uint32 `json:"pid"`
	Process      string `json:"process"`
	Text         string `json:"text,omitempty"` // all of it in words, except the rank
	Cgroup       string `json:"cgroup,omitempty"`
	CgroupID     uint64 `json:"cgroup_id,omitempty"`
	Container    string `json:"container,omitempty"`
	Runtime      string `json:"runtime,omitempty"`
	PodUID       string `json:"pod_uid,omitempty"`
	Namespace    string `json:"namespace,omitempty"`
	Pod          string `json:"pod,omitempty"`
	PodContainer string `json:"pod_container,omitempty"`
	SlurmJob     string `json:"slurm_job,omitempty"`
	SlurmStep    string `json:"slurm_step,omitempty"`
	Unit         string `json:"unit,omitempty"`
	NSPID        uint32 `json:"ns_pid,omitempty"` // its id in its own PID namespace
	Rank         *int   `json:"rank,omitempty"`
	LocalRank    *int   `json:"local_rank,omitempty"`
	WorldSize    *int   `json:"world_size,omitempty"`
}

// Words describes the owner, with the rank and the process's id in its namespace.
func (o *Owner) Words() string {
	s := o.Text
	add := func(format string, args ...any) {
		if s != "" {
			s += ", "
		}
		s += fmt.Sprintf(format, args...)
	}
	switch {
	case o.Rank != nil && o.WorldSize != nil:
		add("rank %d of %d", *o.Rank, *o.WorldSize)
	case o.Rank != nil:
		add("rank %d", *o.Rank)
	}
	if o.NSPID != 0 {
		add("pid %d inside", o.NSPID)
	}
	return s
}

func (t *text) owners(list []Owner) {
	label := "  whose  "
	for i := range list {
		o := &list[i]
		t.short(1, label, fmt.Sprintf("%s (pid %d): %s", o.Process, o.PID, o.Words()))
		label = "         "
	}
}
