package proc_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/host/proc"
)

func TestUsageOfThisProcess(t *testing.T) {
	fs := proc.New("")
	before := must[proc.Usage](t)(fs.Usage(os.Getpid()))
	const pages = 512
	m := must[[]byte](t)(unix.Mmap(-1, 0, pages*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE))
	defer unix.Munmap(m)
	if err := unix.Madvise(m, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL {
		t.Fatal(err)
	}
	for n := 0; n < len(m); n += os.Getpagesize() {
		m[n] = 1
	}
	after := must[proc.Usage](t)(fs.Usage(os.Getpid()))
	if n := after.MinorFaults - before.MinorFaults; n < pages/8 || before.RSS == 0 {
		t.Errorf("%d faults for %d pages; before %+v", n, pages, before)
	}
	if after.RSS < uint64(len(m))/2 { // the kernel's sum is not exact
		t.Errorf("%+v with %d bytes that were written to", after, len(m))
	}
}

func TestUsageOfFakeProcesses(t *testing.T) {
	fs, _ := tree(t, map[string]string{
		"7/stat":   "7 (a) b) S 1 7 7 0 -1 4194304 123 0 45 0 1 2 0 0 20 0 1 0 100 4096 67 18446744073709551615\n",
		"7/status": "Name:\ta) b\nRssAnon:\t     34 kB\nRssFile:\t  5 kB\nVmSwap:\t     12 kB\n",
		"8/stat":   "8 (x) S 1\n",
		// Ended, and not reaped yet: no memory any more.
		"6/stat":   "6 (z) Z 1 7 7 0 -1 4194304 123 0 45 0 1 2 0 0 20 0 1 0 100 0 0 18446744073709551615\n",
		"6/status": "Name:\tz\n",
	})
	want := proc.Usage{
		MinorFaults: 123, MajorFaults: 45, RSS: 67 * uint64(os.Getpagesize()), Swap: 12 << 10, Private: 34 << 10,
	}
	if u := must[proc.Usage](t)(fs.Usage(7)); u != want {
		t.Errorf("usage %+v, want %+v", u, want)
	}
	for _, pid := range []int{6, 8, 9} {
		if u, err := fs.Usage(pid); err == nil {
			t.Errorf("process %d: %+v and no error", pid, u)
		}
	}
}

func TestFilesAreFoundByInode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b")
	f := must[*os.File](t)(os.Create(path))
	defer f.Close()
	st := must[os.FileInfo](t)(f.Stat()).Sys().(*syscall.Stat_t)
	fs := proc.New("")
	asked := []uint64{1 << 60, st.Ino}
	if got := fs.OpenPaths(os.Getpid(), asked); len(got) != 1 || got[st.Ino] != path {
		t.Errorf("open files are %v, want %s", got, path)
	}
	if got := fs.MappedPaths(os.Getpid(), asked); len(got) != 0 {
		t.Errorf("mapped files are %v before one is", got)
	}
	if _, err := f.Write(make([]byte, os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	m := must[[]byte](t)(unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE))
	defer unix.Munmap(m)
	f.Close()
	if got := fs.OpenPaths(os.Getpid(), asked); len(got) != 0 {
		t.Errorf("open files are %v after it was closed", got)
	}
	if got := fs.MappedPaths(os.Getpid(), asked); len(got) != 1 || got[st.Ino] != path {
		t.Errorf("mapped files are %v, want %s", got, path)
	}
	if got := proc.BlockDevice("", 1<<11, 5); got != "" {
		t.Errorf("no such device is %q", got)
	}
}
