package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
)

func TestFilesThatNobodyMapsAreLetGo(t *testing.T) {
	t.Parallel()
	a, b, old := fileKey{1, 1, 0}, fileKey{1, 2, 0}, fileKey{2, 1, 0}
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	u := newFileUsers()
	keep := func(k fileKey) (bool, bool) { return k != old, k == b }
	gone := func(now int) string { return fmt.Sprint(u.letGo(at(now), keep)) }
	for _, k := range []fileKey{a, b, old} {
		u.attached(k, at(0))
	}
	u.set(7, []fileKey{a, b, old}, at(1))
	u.inherit(7, 8, at(2))
	u.gone(7, at(3))
	if got := gone(1000); got != "[]" { // its child still maps them
		t.Error(got)
	}
	u.set(8, []fileKey{a}, at(10)) // it has unmapped two
	if got := gone(11); got != fmt.Sprint([]fileKey{old}) {
		t.Error(got)
	}
	u.forget(old)
	u.gone(8, at(20))
	if got := gone(79); got != "[]" { // the next program may map it again
		t.Error(got)
	}
	if got := gone(80); got != fmt.Sprint([]fileKey{a}) {
		t.Error(got)
	}
	u.forget(a)
	if got := gone(100000); got != "[]" || len(u.unused) != 1 || len(u.processes)+len(u.files) > 0 { // b is there for ever
		t.Errorf("%s %+v", got, u)
	}
}

func TestFewUnusedFilesStay(t *testing.T) {
	t.Parallel()
	u := newFileUsers()
	for i := range maxUnused + 3 {
		u.attached(fileKey{1, uint64(i), 0}, time.Unix(int64(i), 0))
	}
	got := u.letGo(time.Unix(0, 0), func(fileKey) (bool, bool) { return true, false })
	if want := fmt.Sprint([]fileKey{{1, 0, 0}, {1, 1, 0}, {1, 2, 0}}); fmt.Sprint(got) != want {
		t.Error(got)
	}
}

// Each process's mappings are read again in turn, those that may have changed first.
func TestProcessesAreAskedInTurn(t *testing.T) {
	t.Parallel()
	u := newFileUsers()
	if _, ok := u.next(); ok {
		t.Error("there is one")
	}
	for _, pid := range []int{30, 10, 20} {
		u.set(pid, []fileKey{{1, 1, 0}}, time.Time{})
	}
	u.doubt(20)
	u.doubt(99) // has mapped nothing
	var got []int
	for range 5 {
		pid, _ := u.next()
		got = append(got, pid)
	}
	if fmt.Sprint(got) != "[20 10 20 30 10]" {
		t.Error(got)
	}
}

// Whatever comes and goes, nothing is kept of it.
func TestNothingIsKeptOfProcessesThatEnded(t *testing.T) {
	t.Parallel()
	u := newFileUsers()
	now := time.Unix(0, 0)
	for pid := 1; pid < 10_000; pid++ {
		k := fileKey{1, uint64(pid % 700), 0}
		u.attached(k, now)
		u.set(pid, []fileKey{k, {1, 1, 0}}, now)
		u.doubt(pid)
		if pid > 20 {
			u.gone(pid-20, now)
		}
		for _, k := range u.letGo(now, func(fileKey) (bool, bool) { return false, false }) {
			u.forget(k)
		}
		u.next()
	}
	for pid := range 10_000 {
		u.gone(pid, now)
	}
	for _, k := range u.letGo(now, func(fileKey) (bool, bool) { return false, false }) {
		u.forget(k)
	}
	for range len(u.doubtful) {
		u.next()
	}
	if len(u.processes)+len(u.files)+len(u.unused)+len(u.doubtful) > 0 {
		t.Errorf("%d files, %d processes, %d unused, %d in doubt are left", len(u.processes), len(u.files), len(u.unused),
			len(u.doubtful))
	}
}

func TestDescendantsOfNamedProcessesAreNamed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for pid, parent := range map[int]int{1: 0, 10: 1, 11: 10, 12: 11, 13: 12, 20: 1} {
		dir := filepath.Join(root, fmt.Sprint(pid))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		stat := fmt.Sprintf("%d (a ) R b) S %d 0 0 0", pid, parent)
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := &targets{fs: proc.New(root), processTree: map[int]bool{10: true}, self: 13}
	if !x.descendants() || x.descendants() {
		t.Error("they are found once")
	}
	if got := fmt.Sprint(x.processTree); got != "map[10:true 11:true 12:true]" { // without this process
		t.Error(got)
	}
}
