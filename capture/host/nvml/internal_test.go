package nvml

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/internal/cudastub"
)

func TestTheLoadersCacheNamesTheLibrary(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cache string
		want  []string
	}{
		{"", nil},
		{"glibc-ld.so.cache1.1libz.so.1\x00/lib/libz.so.1\x00", nil},
		{
			"\x00libnvidia-ml.so.1\x00/usr/lib/i386/libnvidia-ml.so.1\x00libnvidia-ml.so.1\x00/usr/lib/libnvidia-ml.so.1\x00",
			[]string{"/usr/lib/i386/libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.1"},
		},
		{"\x00/opt/libnvidia-ml.so.10\x00/opt/libnvidia-ml.so\x00", nil},
		{"not/from/the/root/libnvidia-ml.so.1\x00/cut/libnvidia-ml.so.1", nil},
	} {
		if got := cached([]byte(tt.cache)); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.cache, got, tt.want)
		}
	}
}

// LD_LIBRARY_PATH may have folders below the current one, and links.
func TestALibraryIsFoundByARelativePath(t *testing.T) {
	dir := t.TempDir()
	lib, err := cudastub.ExtractNVML(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(lib.Dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	want, err := filepath.EvalSymlinks(lib.Path)
	if err != nil {
		t.Fatal(err)
	}
	if got := libraries(&Options{Dirs: []string{"none", "nvml", "./link"}, Only: true}); !slices.Equal(got,
		[]string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhoMayChangeALibrary(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir() // below a sticky folder
	path := filepath.Join(dir, "lib")
	set := func(mode, dirMode os.FileMode, owner, dirOwner int) {
		t.Helper()
		for _, err := range []error{
			os.WriteFile(path, nil, mode), os.Chmod(path, mode), os.Chmod(dir, dirMode),
			os.Chown(path, owner, 0), os.Chown(dir, dirOwner, 0),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		mode, dirMode   os.FileMode
		owner, dirOwner int
		safe            bool
	}{
		{0o755, 0o755, 0, 0, true},
		{0o755, 0o777 | os.ModeSticky, 0, 0, true},
		{0o755, 0o777, 0, 0, false},
		{0o775, 0o755, 0, 0, false},
		{0o757, 0o755, 0, 0, false},
		{0o755, 0o755, 12345, 0, false},
		{0o755, 0o755, 0, 12345, false},
	} {
		set(tt.mode, tt.dirMode, tt.owner, tt.dirOwner)
		if owner, safe := guarded(path); owner != tt.owner || safe != tt.safe {
			t.Errorf("%o in %o of %d in that of %d: owner %d, safe %v", tt.mode, tt.dirMode, tt.owner, tt.dirOwner, owner, safe)
		}
	}
	if owner, safe := guarded(path + "x"); owner != -1 || safe {
		t.Errorf("no file: %d, %v", owner, safe)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(uint32(3), []byte("values"))
	f.Fuzz(func(t *testing.T, k uint32, b []byte) {
		var r record
		copy(r[:], b)
		binary.LittleEndian.PutUint32(r[:], k)
		d, dev, g, p, x, e := r.driver(), r.device(), r.reading(), r.process(), r.xid(2), r.failure()
		for _, s := range []string{d.Version, d.NVML, dev.Name, dev.UUID, dev.BusID, e.Text} {
			for _, c := range s {
				if c < ' ' || c > '~' {
					t.Errorf("%q", s)
				}
			}
		}
		for _, field := range Fields() {
			if v, ok := g.Value(field); !ok && v != 0 {
				t.Errorf("%s has a value and an error", field)
			}
		}
		if x.GPU > 1 || !p.Known && p.Bytes != 0 || e.Error() == "" {
			t.Errorf("%+v, %+v, %v", x, p, e)
		}
	})
}

// What a user may have put there is loaded with that user's rights, or nobody's.
func TestALibraryIsLoadedAsTheUserWhoMayChangeIt(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	lib, err := cudastub.ExtractNVML(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	users := func(mode os.FileMode, owner int) string {
		t.Helper()
		if err := errors.Join(os.Chmod(lib.Dir, mode), os.Chown(lib.Path, owner, 0)); err != nil {
			t.Fatal(err)
		}
		r := Reader{opts: Options{Dirs: []string{lib.Dir}, Only: true}}
		var all []string
		for _, w := range r.ways() {
			f, err := w.open()
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			if w.as == nil {
				all = append(all, "root")
			} else {
				all = append(all, fmt.Sprint(w.as.Uid))
			}
		}
		return strings.Join(all, ", ")
	}
	for _, tt := range []struct {
		mode  os.FileMode
		owner int
		want  string
	}{{0o755, 0, "65534, root"}, {0o777, 0, "65534"}, {0o755, 12345, "12345"}, {0o777, 12345, "12345"}} {
		if got := users(tt.mode, tt.owner); got != tt.want {
			t.Errorf("%o, owned by %d: as %s, want %s", tt.mode, tt.owner, got, tt.want)
		}
	}
	w := way{library: lib.Path, owner: 0}
	if f, err := w.open(); err == nil {
		f.Close()
		t.Error("opened though it is another user's by now")
	}
}

// Rounds are missed by the clock of who makes them, whenever this process hears of them.
func TestRoundsReceivedLateAreNotCountedAsMissed(t *testing.T) {
	t.Parallel()
	second := uint64(time.Second)
	now := monotonic()
	for _, tt := range []struct {
		name   string
		ago    []uint64 // of the rounds heard, half seconds
		unread bool     // there is more to hear
		want   uint64
	}{
		{"none", nil, false, 0},
		{"all late at once", []uint64{8, 6, 4, 2, 0}, false, 0},
		{"one missed", []uint64{8, 4, 3, 1}, false, 1},
		{"three missed", []uint64{9, 1}, false, 3},
		{"the next is unread", []uint64{8}, true, 0},
		{"one missed, and the next is unread", []uint64{12, 8}, true, 1},
		{"nothing received", []uint64{8}, false, 3},
		{"nothing received yet", []uint64{3}, false, 0},
	} {
		r := &Reader{opts: Options{Period: time.Second}, unread: func() bool { return tt.unread }}
		for _, ago := range tt.ago {
			r.rounded(now-ago*second/2, 0)
		}
		if got := r.Take().Missed + r.Take().Missed; got != tt.want {
			t.Errorf("%s: %d missed, want %d", tt.name, got, tt.want)
		}
	}
}

// A library may make its process say anything. What is kept of that is bounded.
func TestAHelperThatSaysTooMuchIsEnded(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{kindReading, kindProcess, kindDevice, kindXid, kindFailure} {
		var rec record
		binary.LittleEndian.PutUint32(rec[:], uint32(k))
		var r Reader
		r.opts.defaults()
		err := r.hear(endless{rec[:]}, make(chan struct{}, 1))
		var f *Failure
		if !errors.As(err, &f) || f.Stage != StageRead || f.Text == "" {
			t.Errorf("record of kind %d: %v", k, err)
		}
		if n := len(r.pending.Xids); n > maxPending {
			t.Errorf("%d errors are kept", n)
		}
	}
}

// endless is a text again and again.
type endless struct{ b []byte }

func (e endless) Read(p []byte) (int, error) { return copy(p, e.b), nil }
