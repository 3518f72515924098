package proc_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// tree writes files below a folder and returns the proc file system there.
func tree(t *testing.T, files map[string]string) (proc.FS, string) {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return proc.New(root), root
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestProcessesAndThreadsAreSorted(t *testing.T) {
	f, _ := tree(t, map[string]string{
		"10/comm": "", "9/comm": "", "self/comm": "", "meminfo": "",
		"9/task/11/comm": "eleven\n", "9/task/9/comm": "a name with\nnewline\n",
	})
	if got := must[[]int](t)(f.PIDs()); !slices.Equal(got, []int{9, 10}) {
		t.Errorf("processes %v", got)
	}
	if got := must[[]int](t)(f.Threads(9)); !slices.Equal(got, []int{9, 11}) {
		t.Errorf("threads %v", got)
	}
	if got := must[string](t)(f.Comm(9, 9)); got != "a name with\nnewline" {
		t.Errorf("comm %q", got)
	}
}

func TestCommandLines(t *testing.T) {
	f, _ := tree(t, map[string]string{
		"1/cmdline": "python3\x00train.py\x00--lr 1\x00",
		"2/cmdline": "",
		"3/cmdline": "a\xffb\x00\x00\x00",
		"4/cmdline": strings.Repeat("x", 5000),
	})
	for pid, want := range map[int]string{1: "python3 train.py --lr 1", 2: "", 3: "a\uFFFDb", 4: strings.Repeat("x", 1024)} {
		if got := must[string](t)(f.Command(pid)); got != want {
			t.Errorf("process %d: %q", pid, got)
		}
	}
}

func TestParentIsReadBehindTheName(t *testing.T) {
	f, _ := tree(t, map[string]string{
		"1/stat": "1 (a) R 7 1 1",
		"2/stat": "2 (evil) S 99 (x) S 8 2 2\n",
		"3/stat": "3 (cut",
		"4/stat": "4 (a) R",
		"5/stat": "",
	})
	for pid, want := range map[int]int{1: 7, 2: 8} {
		if got := must[int](t)(f.Parent(pid)); got != want {
			t.Errorf("process %d: parent %d", pid, got)
		}
	}
	for _, pid := range []int{3, 4, 5} {
		if got, err := f.Parent(pid); err == nil {
			t.Errorf("process %d: parent %d from a damaged file", pid, got)
		}
	}
}

func TestEnvironmentIsReadByName(t *testing.T) {
	f, _ := tree(t, map[string]string{"1/environ": "A=1\x00RANK=3\x00EMPTY=\x00X=a=b\x00malformed\x00"})
	got := must[map[string]string](t)(f.Environ(1, "RANK", "X", "EMPTY", "NONE", "malformed"))
	if want := map[string]string{"RANK": "3", "X": "a=b", "EMPTY": ""}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestControlGroupsByController(t *testing.T) {
	f,
		_ := tree(t,
		map[string]string{"1/cgroup": "4:memory:/m\n2:cpu,cpuacct:/jobs/a:b\n1:name=systemd:/\n0::/user.slice\nmalformed\n"})
	got := must[map[string]string](t)(f.Cgroups(1))
	want := map[string]string{
		"memory": "/m", "cpu": "/jobs/a:b", "cpuacct": "/jobs/a:b", "name=systemd": "/",
		"": "/user.slice",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestMappings(t *testing.T) {
	f, _ := tree(t, map[string]string{"1/maps": `00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/a program
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
7f0000001000-7f0000002000 r--p 0000a000 fe:00 42   /lib/libx.so.1 (deleted)
7f0000002000-7f0000003000 rw-p 00000000 00:00 0    [anon:pool/7]
7f0000003000-7f0000004000 r-xp 00000000 00:00 0    [vdso]
zz-7f0000004000 r-xp 00000000 00:00 0 /damaged
7f0000004000 r-xp 00000000 00:00 0 /damaged
7f0000004000-7f0000005000 r-xp 00000000 00:00 x /damaged
`})
	want := []proc.Mapping{
		{Start: 0x400000, End: 0x452000, Offset: 0x1000, Exec: true, Dev: "08:02", Inode: 173521, Path: "/usr/bin/a program"},
		{
			Start: 0x7f0000001000, End: 0x7f0000002000, Offset: 0xa000, Dev: "fe:00", Inode: 42, Path: "/lib/libx.so.1",
			Deleted: true,
		},
	}
	if got := must[[]proc.Mapping](t)(f.Maps(1)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	want = []proc.Mapping{want[0], {Start: 0x7f0000003000, End: 0x7f0000004000, Exec: true, Dev: "00:00", Path: "[vdso]"}}
	if got := must[[]proc.Mapping](t)(f.Code(1)); !reflect.DeepEqual(got, want) {
		t.Errorf("code: got  %+v\nwant %+v", got, want)
	}
}

func TestVanishedProcessIsNotExist(t *testing.T) {
	f, _ := tree(t, nil)
	var errs []error
	add := func(_ any, err error) { errs = append(errs, err) }
	add(f.Threads(1))
	add(f.Comm(1, 1))
	add(f.Command(1))
	add(f.Parent(1))
	add(f.UID(1))
	add(f.Environ(1))
	add(f.Cgroups(1))
	add(f.Maps(1))
	add(f.Open(1, proc.Mapping{Path: "/x"}))
	for i, err := range errs {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("reader %d: %v", i, err)
		}
	}
}

func TestOpenDetectsAReplacedFile(t *testing.T) {
	f, root := tree(t, map[string]string{
		"1/root/lib/libx.so":        "",
		"1/map_files/400000-401000": "",
	})
	inside := filepath.Join(root, "1/root/lib/libx.so")
	i, err := os.Stat(inside)
	if err != nil {
		t.Fatal(err)
	}
	m := proc.Mapping{Start: 0x400000, End: 0x401000, Inode: i.Sys().(*syscall.Stat_t).Ino, Path: "/lib/libx.so"}
	if got := must[string](t)(f.Open(1, m)); got != inside {
		t.Errorf("got %s", got)
	}
	m.Inode++
	if got := must[string](t)(f.Open(1, m)); got != filepath.Join(root, "1/map_files/400000-401000") {
		t.Errorf("replaced file: got %s", got)
	}
	m.End++
	if got, err := f.Open(1, m); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestOwnProcess(t *testing.T) {
	f := proc.New("")
	pid := os.Getpid()
	if pids := must[[]int](t)(f.PIDs()); !slices.Contains(pids, pid) {
		t.Errorf("own process is not in %v", pids)
	}
	if tids := must[[]int](t)(f.Threads(pid)); !slices.Contains(tids, pid) {
		t.Errorf("main thread is not in %v", tids)
	}
	if got := must[int](t)(f.Parent(pid)); got != os.Getppid() {
		t.Errorf("parent %d, want %d", got, os.Getppid())
	}
	if got := must[uint32](t)(f.UID(pid)); int(got) != os.Geteuid() {
		t.Errorf("owner %d, want %d", got, os.Geteuid())
	}
	self := must[string](t)(os.Executable())
	if got := must[string](t)(f.Command(pid)); !strings.Contains(got, filepath.Base(self)) {
		t.Errorf("command %q", got)
	}
	maps := must[[]proc.Mapping](t)(f.Maps(pid))
	i := slices.IndexFunc(maps, func(m proc.Mapping) bool { return m.Exec && m.Path == self })
	if i < 0 {
		t.Fatalf("own program is not in %+v", maps)
	}
	if got := must[string](t)(f.Open(pid, maps[i])); !strings.HasSuffix(got, self) {
		t.Errorf("own program is %s", got)
	}
}

func TestProgramThatWasReplacedCanStillBeOpened(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to open a file through map_files")
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("needs the command sleep")
	}
	program := filepath.Join(t.TempDir(), "program")
	content := must[[]byte](t)(os.ReadFile(sleep))
	if err := os.WriteFile(program, content, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "60")
	if err := cmd.Start(); err != nil { // returns after the child's exec
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // "signal: killed"
	})
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("another one"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := proc.New("")
	for _, m := range must[[]proc.Mapping](t)(f.Maps(cmd.Process.Pid)) {
		if m.Path != program || !m.Exec {
			continue
		}
		if !m.Deleted {
			t.Errorf("%+v is not marked as deleted", m)
		}
		if got := must[[]byte](t)(os.ReadFile(must[string](t)(f.Open(cmd.Process.Pid, m)))); string(got) != string(content) {
			t.Errorf("opened another file, of %d bytes", len(got))
		}
		return
	}
	t.Error("program is not mapped")
}

func TestPressureIsReadAsATotal(t *testing.T) {
	dir := t.TempDir()
	write := func(resource, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "pressure"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "pressure", resource), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n")
	write("cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n") // before Linux 5.13 without full
	write("memory", "some avg10=0.00 total=x\n")
	fs := proc.New(dir)
	if p, err := fs.Pressure("io"); err != nil ||
		p != (proc.Pressure{Some: 1500 * time.Microsecond, Full: time.Millisecond}) {
		t.Errorf("io: %+v, %v", p, err)
	}
	if p, err := fs.Pressure("cpu"); err != nil || p != (proc.Pressure{Some: 7 * time.Microsecond}) {
		t.Errorf("cpu: %+v, %v", p, err)
	}
	if _, err := fs.Pressure("memory"); err == nil {
		t.Error("nonsense was accepted")
	}
	if _, err := fs.Pressure("irq"); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestSwappingIsReadInBytes(t *testing.T) {
	dir := t.TempDir()
	page := uint64(os.Getpagesize())
	for text, want := range map[string]proc.Swapping{
		"nr_free_pages 7\npswpin 3\npswpout 5\npgmajfault 9\n": {In: 3 * page, Out: 5 * page},
		"pswpin 3\n":            {}, // a kernel without swap
		"pswpin x\npswpout 5\n": {},
	} {
		if err := os.WriteFile(filepath.Join(dir, "vmstat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := proc.New(dir).Swapping()
		if (err == nil) != (want != proc.Swapping{}) || err == nil && s != want {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}
