package smallfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/lib/smallfile"
)

func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	for n, want := range map[int]error{0: nil, 5: nil, smallfile.Max: nil, smallfile.Max + 1: smallfile.ErrLong} {
		if err := os.WriteFile(path, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := smallfile.Read(path); !errors.Is(err, want) || err == nil && len(b) != n {
			t.Errorf("%d bytes: %d, %v", n, len(b), err)
		}
	}
	if _, err := smallfile.Read("/dev/zero"); !errors.Is(err, smallfile.ErrLong) {
		t.Error(err)
	}
	if _, err := smallfile.Read(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, pair := range [][2]string{{"/dev/zero", path}, {path, "/dev/zero"}} {
		if _, err := smallfile.KeyPair(pair[0], pair[1]); err == nil {
			t.Errorf("%q is a pair", pair)
		}
	}
}
