package owner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/capture/host/owner"
)

const (
	id   = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809"
	id2  = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"
	uid  = "3e9f8a56-7c1d-4a2b-9e3f-0123456789ab"
	uid_ = "3e9f8a56_7c1d_4a2b_9e3f_0123456789ab"
)

func TestControlGroupPathsNameTheOwner(t *testing.T) {
	t.Parallel()
	pod := func(runtime string) owner.Owner { return owner.Owner{PodUID: uid, Container: id, Runtime: runtime} }
	container := func(runtime string) owner.Owner { return owner.Owner{Container: id, Runtime: runtime} }
	tests := map[string]struct {
		path string
		want owner.Owner
	}{
		"kubelet, systemd, containerd": {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uid_ +
			".slice/cri-containerd-" + id + ".scope", pod("containerd")},
		"kubelet, guaranteed": {
			"/kubepods.slice/kubepods-pod" + uid_ + ".slice/cri-containerd-" + id + ".scope",
			pod("containerd"),
		},
		"kubelet, systemd, cri-o": {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + uid_ +
			".slice/crio-" + id + ".scope/container", pod("cri-o")},
		"kubelet, systemd, docker": {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + uid_ +
			".slice/docker-" + id + ".scope", pod("docker")},
		"kubelet, cgroupfs":             {"/kubepods/burstable/pod" + uid + "/" + id, pod("")},
		"kubelet, cgroupfs, guaranteed": {"/kubepods/pod" + uid + "/" + id, pod("")},
		"static pod": {
			"/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" + id,
			owner.Owner{PodUID: "0123456789abcdef0123456789abcdef", Container: id},
		},
		"containerd with the wrong form": {"/system.slice/containerd.service/kubepods-burstable-pod" + uid_ +
			".slice:cri-containerd:" + id, pod("containerd")},
		"kind, a cluster in docker": {
			"/system.slice/docker-" + id2 +
				".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + uid_ + ".slice/cri-containerd-" + id + ".scope",
			pod("containerd"),
		},
		"pod's sandbox level": {"/kubepods.slice/kubepods-pod" + uid_ + ".slice", owner.Owner{PodUID: uid}},
		"seen from another group": {
			"/../../kubepods-pod" + uid_ + ".slice/cri-containerd-" + id + ".scope",
			pod("containerd"),
		},
		"docker, cgroupfs": {"/docker/" + id, container("docker")},
		"docker, systemd":  {"/system.slice/docker-" + id + ".scope", container("docker")},
		"docker, rootless": {
			"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + id + ".scope",
			container("docker"),
		},
		"docker in docker": {"/docker/" + id2 + "/docker/" + id, container("docker")},
		"podman":           {"/machine.slice/libpod-" + id + ".scope/container", container("podman")},
		"podman, rootless": {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id +
			".scope/container", container("podman")},
		"podman, cgroupfs": {"/libpod_parent/libpod-" + id, container("podman")},
		"nerdctl":          {"/system.slice/nerdctl-" + id + ".scope", container("nerdctl")},
		"ECS":              {"/ecs/0123456789abcdef0123456789abcdef/" + id, container("")},
		"LXC": {
			"/lxc.payload.build/system.slice/cron.service",
			owner.Owner{Container: "build", Runtime: "lxc"},
		},
		"podman's monitor": {
			"/machine.slice/libpod-conmon-" + id + ".scope",
			owner.Owner{Unit: "libpod-conmon-" + id + ".scope"},
		},
		"Slurm, version 1": {
			"/slurm/uid_1000/job_4711/step_0/task_3",
			owner.Owner{SlurmJob: "4711", SlurmStep: "0"},
		},
		"Slurm, version 1, named node": {
			"/slurm_gpu01/uid_1000/job_4711/step_batch",
			owner.Owner{SlurmJob: "4711", SlurmStep: "batch"},
		},
		"Slurm, version 2": {
			"/system.slice/slurmstepd.scope/job_4711/step_12/user/task_0",
			owner.Owner{SlurmJob: "4711", SlurmStep: "12"},
		},
		"Slurm, named node, version 2": {
			"/system.slice/gpu01_slurmstepd.scope/job_4711/step_extern/user",
			owner.Owner{SlurmJob: "4711", SlurmStep: "extern"},
		},
		"service": {"/system.slice/backup.service", owner.Owner{Unit: "backup.service"}},
		"service of a template": {
			"/system.slice/system-train.slice/train@7.service",
			owner.Owner{Unit: "train@7.service"},
		},
		"user's own service": {
			"/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service",
			owner.Owner{Unit: "jupyter.service"},
		},
		"login":                {"/user.slice/user-1000.slice/session-3.scope", owner.Owner{}},
		"init":                 {"/init.scope", owner.Owner{}},
		"root":                 {"/", owner.Owner{}},
		"nothing":              {"", owner.Owner{}},
		"a folder with digits": {"/jobs/1a2b3c4d5e6f7081", owner.Owner{}},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, owner.FromPath(tt.path)); diff != "" {
			t.Errorf("%s: %s\n%s", name, tt.path, diff)
		}
	}
}

func FuzzFromPath(f *testing.F) {
	f.Add("/kubepods.slice/kubepods-pod" + uid_ + ".slice/cri-containerd-" + id + ".scope")
	f.Add("/slurm/uid_1/job_2/step_3")
	f.Fuzz(func(t *testing.T, path string) {
		if o := owner.FromPath(path); (o.Container != "" || o.PodUID != "") && o.Unit != "" {
			t.Errorf("%q is of %+v", path, o)
		}
	})
}

func TestOwnersAsText(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]owner.Owner{
		"pod ml/train-0 container worker (containerd 1a2b3c4d5e6f)": {
			PodUID: uid, Namespace: "ml", Pod: "train-0",
			PodContainer: "worker", Container: id, Runtime: "containerd",
		},
		"pod train-0 (1a2b3c4d5e6f)":         {PodUID: uid, Pod: "train-0", Container: id},
		"pod " + uid:                         {PodUID: uid},
		"container 1a2b3c4d5e6f (docker)":    {Container: id, Runtime: "docker"},
		"container 1a2b3c4d5e6f":             {Container: id},
		"Slurm job 4711 step 0":              {SlurmJob: "4711", SlurmStep: "0"},
		"Slurm job 4711, unit train.service": {SlurmJob: "4711", Unit: "train.service"},
		"unit backup.service":                {Unit: "backup.service"},
		"":                                   {CgroupID: 7, NSPID: 3},
		"container build (lxc), Slurm job 1": {Container: "build", Runtime: "lxc", SlurmJob: "1"},
	} {
		if got := o.String(); got != want {
			t.Errorf("%+v reads %q, want %q", o, got, want)
		}
	}
}

func TestRanksOfLaunchers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env  string
		want owner.Rank
	}{
		"torchrun": {"RANK=3 LOCAL_RANK=1 WORLD_SIZE=8", owner.Rank{3, 1, 8}},
		"torchrun under Slurm": {
			"RANK=3 LOCAL_RANK=3 WORLD_SIZE=8 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=2",
			owner.Rank{3, 3, 8},
		},
		"Open MPI": {
			"OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=16",
			owner.Rank{5, 1, 16},
		},
		"MPICH, Intel MPI":       {"PMI_RANK=2 MPI_LOCALRANKID=0 PMI_SIZE=4", owner.Rank{2, 0, 4}},
		"srun":                   {"SLURM_PROCID=9 SLURM_LOCALID=1 SLURM_NTASKS=16", owner.Rank{9, 1, 16}},
		"srun, one is not known": {"SLURM_PROCID=0 SLURM_NTASKS=2", owner.Rank{0, -1, 2}},
		"only the size":          {"WORLD_SIZE=1", owner.Rank{-1, -1, 1}},
		"rubbish":                {"RANK=first LOCAL_RANK=-2", owner.NoRank},
		"nothing":                {"", owner.NoRank},
	}
	for name, tt := range tests {
		env := map[string]string{}
		for kv := range strings.FieldsSeq(tt.env) {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		if got := owner.RankOf(env); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func machine(t *testing.T, files map[string]string) *owner.Reader {
	t.Helper()
	return owner.New(machineRoot(t, files))
}

// machineRoot makes the files of a machine: name to content; a name that ends in "/"
// is a folder.
func machineRoot(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOwnersOfProcesses(t *testing.T) {
	t.Parallel()
	group := "0::/kubepods.slice/kubepods-pod" + uid_ + ".slice/cri-containerd-" + id + ".scope\n"
	full := owner.Owner{
		PodUID: uid, Namespace: "ml", Pod: "train-0", PodContainer: "worker", Container: id,
		Runtime: "containerd", NSPID: 7,
	}
	inside := "Name:\tpython\nNSpid:\t42\t7\n"
	without := func(o owner.Owner, change func(*owner.Owner)) owner.Owner {
		change(&o)
		return o
	}
	tests := map[string]struct {
		files map[string]string
		want  owner.Owner
	}{
		"the kubelet's links": {map[string]string{
			"proc/42/cgroup": group, "proc/42/status": inside,
			"var/log/containers/train-0_ml_worker-" + id + ".log": "", "var/log/containers/other_ml_worker-" + id2 + ".log": "",
		}, full},
		"the kubelet's log folders": {map[string]string{
			"proc/42/cgroup": group, "proc/42/status": inside,
			"var/log/pods/ml_train-0_" + uid + "/worker/": "", "var/log/pods/ml_other_" + strings.ToUpper(uid) + "/x/": "",
		}, full},
		"several containers in the pod, distinguished by a mount": {map[string]string{
			"proc/42/cgroup": group, "proc/42/status": inside,
			"proc/42/mountinfo": "640 617 8:1 /var/lib/kubelet/pods/" + uid +
				"/containers/worker/5a6b /dev/termination-log rw - ext4 /dev/sda1 rw\n",
			"var/log/pods/ml_train-0_" + uid + "/worker/": "", "var/log/pods/ml_train-0_" + uid + "/sidecar/": "",
		}, full},
		"from a container, the host's files through its first process": {map[string]string{
			"proc/42/cgroup": group, "proc/42/status": inside,
			"proc/1/root/var/log/containers/train-0_ml_worker-" + id + ".log": "",
		}, full},
		"what the pod says of itself": {map[string]string{
			"proc/42/cgroup": group, "proc/42/status": inside,
			"proc/42/environ": "HOSTNAME=train-0\x00KUBERNETES_SERVICE_HOST=10.0.0.1\x00",
			"proc/42/root/run/secrets/kubernetes.io/serviceaccount/namespace": "ml",
		}, without(full, func(o *owner.Owner) { o.PodContainer = "" })},
		"a hostname that is none": {map[string]string{
			"proc/42/cgroup": group, "proc/42/status": inside, "proc/42/root/etc/hostname": "Not A Name\n",
		}, without(full, func(o *owner.Owner) { o.PodContainer, o.Pod, o.Namespace = "", "", "" })},
		"control group namespace, Kubernetes": {map[string]string{
			"proc/42/cgroup": "0::/\n",
			"proc/42/mountinfo": "1 0 0:30 / / rw - overlay overlay rw\n" +
				"2 1 8:1 /pods/" + uid + "/etc-hosts /etc/hosts rw - ext4 /dev/sdb1 rw\n" +
				"3 1 0:24 /containerd/io.containerd.grpc.v1.cri/sandboxes/" + id2 + "/hostname /etc/hostname rw - tmpfs tmpfs rw\n",
		}, owner.Owner{PodUID: uid, Runtime: "containerd"}},
		"control group namespace, docker": {map[string]string{
			"proc/42/cgroup":    "0::/\n",
			"proc/42/mountinfo": "3 1 8:1 /var/lib/docker/containers/" + id + "/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n",
		}, owner.Owner{Container: id, Runtime: "docker"}},
		"control group namespace, podman": {map[string]string{
			"proc/42/cgroup": "0::/\n",
			"proc/42/mountinfo": "3 1 0:25 /containers/overlay-containers/" + id +
				"/userdata/hostname /etc/hostname rw - tmpfs tmpfs rw\n",
		}, owner.Owner{Container: id, Runtime: "podman"}},
		"a node's own mounts for pods": {map[string]string{
			"proc/42/cgroup": "0::/system.slice/kubelet.service\n",
			"proc/42/mountinfo": "9 1 8:1 /pods/" + uid +
				"/containers/worker/x /var/lib/kubelet/pods/y rw - ext4 /dev/sda1 rw\n",
		}, owner.Owner{Unit: "kubelet.service"}},
		"version 1": {map[string]string{
			"proc/42/cgroup": "5:cpu,cpuacct:/docker/" + id + "\n1:name=systemd:/docker/" + id + "\n",
		}, owner.Owner{Container: id, Runtime: "docker"}},
		"hybrid, only in one hierarchy": {map[string]string{
			"proc/42/cgroup": "9:name=systemd:/\n4:memory:/slurm/uid_0/job_12/step_3\n0::/\n",
		}, owner.Owner{SlurmJob: "12", SlurmStep: "3"}},
		"Slurm without control groups": {map[string]string{
			"proc/42/cgroup": "0::/system.slice/slurmd.service\n", "proc/42/environ": "SLURM_JOB_ID=12\x00SLURM_STEP_ID=0\x00",
		}, owner.Owner{SlurmJob: "12", SlurmStep: "0", Unit: "slurmd.service"}},
		"what a process says of itself is no job": {map[string]string{
			"proc/42/cgroup":  "0::/system.slice/slurmd.service\n",
			"proc/42/environ": "SLURM_JOB_ID=\x1b[2J\x00SLURM_STEP_ID=0\x00",
		}, owner.Owner{Unit: "slurmd.service"}},
		"a process that has ended": {map[string]string{"proc/43/cgroup": group}, owner.Owner{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := machine(t, tt.files).Of(42)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A container chooses what its files are.
func TestLinksOutOfAContainerAreNotFollowed(t *testing.T) {
	t.Parallel()
	root := machineRoot(t, map[string]string{
		"proc/42/cgroup": "0::/kubepods/pod" + uid + "/" + id + "\n", "proc/42/root/etc/": "", "secret": "hidden",
	})
	must(t, os.Symlink(filepath.Join(root, "secret"), filepath.Join(root, "proc/42/root/etc/hostname")))
	if o, _ := owner.New(root).Of(42); o.Pod != "" {
		t.Errorf("read %q from outside of the container", o.Pod)
	}
}

func TestProcessesAreFoundByTheirIDInside(t *testing.T) {
	t.Parallel()
	r := machine(t, map[string]string{
		"proc/42/status": "NSpid:\t42\t7\n", "proc/43/status": "NSpid:\t43\t7\t1\n", "proc/44/status": "NSpid:\t44\t8\n",
		"proc/7/status": "NSpid:\t7\n",
	})
	if diff := cmp.Diff([]int{42, 43}, r.Inside(7)); diff != "" {
		t.Error(diff)
	}
}
