package owner

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/capture/host/cgroup"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/privilege"
)

// Reader finds the owners of one machine's processes. It is used by one goroutine.
type Reader struct {
	proc   string // where proc is mounted
	fs     proc.FS
	groups *cgroup.Reader // nil: control groups have no ids
	roots  []string       // where the kubelet's files may be
	pods   map[string]Owner
}

// maxPods bounds the names of pods that are kept.
const maxPods = 1 << 10

// New returns a reader of the machine below root; empty means "/". In a container that shares the
// host's process ids, the host's files are found through process 1.
func New(root string) *Reader {
	root = cmp.Or(root, "/")
	r := &Reader{
		proc: filepath.Join(root, "proc"), pods: map[string]Owner{},
		roots: []string{root, filepath.Join(root, "proc/1/root")},
	}
	r.fs = proc.New(r.proc)
	if g, err := cgroup.New(root); err == nil {
		r.groups = g
	}
	return r
}

// environment are the variables that are read.
var environment = func() []string {
	names := []string{"SLURM_JOB_ID", "SLURM_STEP_ID", "HOSTNAME", "POD_NAME", "POD_NAMESPACE", "KUBERNETES_SERVICE_HOST"}
	for _, l := range launchers {
		names = append(names, l[:]...)
	}
	return names
}()

// Of finds the owner and the rank of a process. A process that has ended has none.
func (r *Reader) Of(pid int) (Owner, Rank) {
	o := r.Group(pid)
	if b, _, err := limit.ReadFile(r.path(pid, "mountinfo"), limit.MountInfo); err == nil {
		o.merge(fromMounts(string(b)))
	}
	o.NSPID = r.inner(pid)
	env, err := r.fs.Environ(pid, environment...)
	if err != nil {
		env = nil // not permitted, or gone
	}
	if job, step := env["SLURM_JOB_ID"], env["SLURM_STEP_ID"]; o.SlurmJob == "" && isName(job) {
		if o.SlurmJob = job; isName(step) {
			o.SlurmStep = step
		}
	}
	if o.PodUID != "" || env["KUBERNETES_SERVICE_HOST"] != "" && o.Container != "" {
		r.name(pid, &o, env)
	}
	return o, RankOf(env)
}

// Group is the owner according to a process's control groups: less than Of, but reads only one
// file.
func (r *Reader) Group(pid int) Owner {
	groups, err := r.fs.Cgroups(pid)
	if err != nil {
		return Owner{}
	}
	var o Owner
	for _, c := range []string{"", "name=systemd", "cpu", "memory", "pids"} { // any of these hierarchies may be in use
		if p, ok := groups[c]; ok {
			o.merge(FromPath(p))
		}
	}
	if r.groups != nil {
		for _, c := range []string{"", "cpu"} {
			if id, err := r.groups.ID(groups[c]); err == nil && groups[c] != "" {
				o.CgroupID = id
				break
			}
		}
	}
	return o
}

// name finds the names of the pod: from the kubelet, else from the pod's environment and files.
func (r *Reader) name(pid int, o *Owner, env map[string]string) {
	key := o.PodUID + "/" + o.Container
	named, ok := r.pods[key]
	if !ok {
		for _, root := range r.roots {
			_ = privilege.With(func() error { named.merge(podNames(root, *o)); return nil }) // it has no error
		}
		if len(r.pods) >= maxPods {
			clear(r.pods)
		}
		r.pods[key] = named
	}
	o.merge(named)
	self := Owner{
		Namespace: cmp.Or(env["POD_NAMESPACE"], r.inside(pid, "run/secrets/kubernetes.io/serviceaccount/namespace"),
			r.inside(pid, "var/run/secrets/kubernetes.io/serviceaccount/namespace")),
		Pod: cmp.Or(env["POD_NAME"], env["HOSTNAME"], r.inside(pid, "etc/hostname")),
	}
	if isName(self.Namespace) {
		o.merge(Owner{Namespace: self.Namespace})
	}
	if isName(self.Pod) {
		o.merge(Owner{Pod: self.Pod})
	}
}

// inside reads the first line of a small file as the process sees it. The process controls its
// content: links cannot lead outside its root, and only a regular file is read.
func (r *Reader) inside(pid int, name string) string {
	var b []byte
	err := privilege.With(func() (err error) {
		b, err = within(r.path(pid, "root"), name)
		return err
	})
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}

// within reads the beginning of a file below a folder, out of which no link leads.
func within(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // only a descriptor
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if i, err := f.Stat(); err != nil || !i.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	return io.ReadAll(io.LimitReader(f, 256))
}

// inner is the process's id in its own PID namespace, 0 if that is this one.
func (r *Reader) inner(pid int) uint32 {
	ids := r.namespaceIDs(pid)
	if len(ids) < 2 {
		return 0
	}
	return ids[len(ids)-1]
}

func (r *Reader) namespaceIDs(pid int) []uint32 { return r.fs.NamespaceIDs(pid, pid) }

// Inside lists the processes that have an id inside another PID namespace than ours, as a user in a
// container may give such an id.
func (r *Reader) Inside(id int) (pids []int) {
	all, err := r.fs.PIDs()
	if err != nil {
		return nil
	}
	for _, pid := range all {
		if ids := r.namespaceIDs(pid); len(ids) > 1 && slices.Contains(ids[1:], uint32(id)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (r *Reader) path(pid int, elem string) string {
	return filepath.Join(r.proc, strconv.Itoa(pid), elem)
}
