package packaging_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A stand-in for ingero: trace writes its arguments to the recording until it is ended, explain reads it.
const standIn = `#!/bin/sh
case $1 in
trace)
	all="$*"
	while [ $# -gt 0 ]; do
		[ "$1" = --db ] && db=$2
		shift
	done
	echo "$all${INGERO_FLEET_TOKEN:+, with $INGERO_FLEET_TOKEN}" >"$db"
	trap 'echo ended >>"$db"; exit 0' TERM
	while :; do sleep 0.05; done
	;;
explain) echo "explained: $(cat "$2")" ;;
esac
`

// slurm runs a script as Slurm does.
func slurm(t *testing.T, script, path, jobs string, env ...string) {
	t.Helper()
	cmd := exec.Command("../deploy/slurm/" + script)
	cmd.Env = append([]string{"PATH=" + path + ":" + os.Getenv("PATH"), "INGERO_JOBS=" + jobs}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s failed, for which Slurm takes a node away: %v: %s", script, err, out)
	}
}

func TestSlurmRecordsEachJob(t *testing.T) {
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		t.Skip("here systemd would start it: make test-packages has a machine of its own")
	}
	path, jobs := t.TempDir(), filepath.Join(t.TempDir(), "jobs")
	if err := os.WriteFile(path+"/ingero", []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	job := []string{"SLURM_JOB_ID=17", "SLURM_JOB_USER=nobody", "SLURM_JOB_UID=65534", "INGERO_FLAGS=--fleet fleet-1:4318"}
	slurm(t, "prolog.sh", path, jobs, job...)
	want := "trace --quiet --fleet-wait --user 65534 --db " + jobs + "/17.db --fleet fleet-1:4318\n"
	eventually(t, func() bool { b, _ := os.ReadFile(jobs + "/17.db"); return string(b) == want })

	old, others := filepath.Join(jobs, "3.db"), filepath.Join(jobs, "thesis.db")
	for _, f := range []string{old, others} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		long := time.Now().AddDate(0, 0, -9)
		if err := os.Chtimes(f, long, long); err != nil {
			t.Fatal(err)
		}
	}
	slurm(t, "epilog.sh", path, jobs, job...)
	b, err := os.ReadFile(jobs + "/17.txt")
	if err != nil || string(b) != "explained: "+want+"ended\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("a recording of nine days ago is still there")
	}
	if _, err := os.Stat(others); err != nil {
		t.Errorf("a file that is no job's was deleted: %v", err)
	}
	if _, err := os.Stat(jobs + "/17.pid"); err == nil {
		t.Error("the tracer's number is still there")
	}
}

// Slurm sets no search path: programs that the scripts start would not find ingero where install.sh puts it.
func TestSlurmWithoutAPath(t *testing.T) {
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		t.Skip("here systemd would start it: make test-packages has a machine of its own")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can have another /usr/local/bin")
	}
	program, jobs := filepath.Join(t.TempDir(), "ingero"), filepath.Join(t.TempDir(), "jobs")
	if err := os.WriteFile(program, []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", "-euc", `mount -t tmpfs tmpfs /usr/local/bin
cp "$1" /usr/local/bin/
job="env -i INGERO_JOBS=$2 SLURM_JOB_ID=17 SLURM_JOB_USER=nobody SLURM_JOB_UID=65534"
$job ../deploy/slurm/prolog.sh
until [ -s "$2/17.db" ]; do sleep 0.05; done
$job ../deploy/slurm/epilog.sh`, "sh", program, jobs)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) && os.Getenv(toolsEnv) == "" {
		t.Skip("no other mounts can be made here")
	}
	if err != nil || len(out) > 0 {
		log, _ := os.ReadFile(jobs + "/17.log") // if it came so far
		t.Fatalf("%v: %s%s", err, out, log)
	}
	if b, err := os.ReadFile(jobs + "/17.txt"); err != nil || !strings.HasPrefix(string(b), "explained: trace ") {
		t.Errorf("%q, %v", b, err)
	}
}

// What they can be told is set in a copy.
func TestSlurmIsToldInACopy(t *testing.T) {
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		t.Skip("here systemd would start it: make test-packages has a machine of its own")
	}
	path, jobs := t.TempDir(), filepath.Join(t.TempDir(), "jobs")
	if err := os.WriteFile(path+"/ingero", []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	for script, set := range map[string]string{
		"prolog.sh": "INGERO_JOBS=" + jobs + "\nINGERO_FLAGS='--fleet f:1'\nINGERO_FLEET_TOKEN=secret\n",
		"epilog.sh": "INGERO_JOBS=" + jobs + "\n",
	} {
		b, err := os.ReadFile("../deploy/slurm/" + script)
		if err != nil {
			t.Fatal(err)
		}
		before, after, ok := strings.Cut(string(b), "set -u\n")
		if !ok {
			t.Fatalf("%s has no set -u", script)
		}
		if err := os.WriteFile(filepath.Join(path, script), []byte(before+"set -u\n"+set+after), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, script := range []string{"prolog.sh", "epilog.sh"} {
		cmd := exec.Command(filepath.Join(path, script))
		cmd.Env = []string{"PATH=" + path + ":" + os.Getenv("PATH"), "SLURM_JOB_ID=17", "SLURM_JOB_USER=nobody", "SLURM_JOB_UID=65534"}
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", script, err, out)
		}
		eventually(t, func() bool { b, _ := os.ReadFile(jobs + "/17.db"); return len(b) > 0 })
	}
	b, err := os.ReadFile(jobs + "/17.txt")
	if want := "explained: trace --quiet --fleet-wait --user 65534 --db " + jobs + "/17.db --fleet f:1, with secret\nended\n"; err != nil || string(b) != want {
		t.Errorf("%q, %v, want %q", b, err, want)
	}
}

// Whatever is missing, a node is not taken away.
func TestSlurmNeverFails(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"prolog.sh", "epilog.sh"} {
		slurm(t, script, path, t.TempDir()+"/jobs", "SLURM_JOB_ID=17", "SLURM_JOB_USER=nobody") // no ingero
		slurm(t, script, path, file+"/jobs", "SLURM_JOB_ID=17", "SLURM_JOB_USER=nobody")        // no folder
		slurm(t, script, path, t.TempDir(), "SLURM_JOB_ID=17")                                  // nobody's job
		slurm(t, script, path, t.TempDir(), "SLURM_JOB_ID=../../etc/x", "SLURM_JOB_USER=nobody")
		slurm(t, script, path, t.TempDir())
	}

	// The number of a tracer that has ended is another process's.
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait() // it was killed
	}()
	jobs := t.TempDir()
	if err := os.WriteFile(jobs+"/17.pid", fmt.Appendln(nil, other.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	slurm(t, "epilog.sh", path, jobs, "SLURM_JOB_ID=17", "SLURM_JOB_USER=nobody")
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("another process was ended: %v", err)
	}
}

// eventually waits until something is so, for as long as a busy machine may take.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for range 600 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("it did not become so in half a minute")
}
