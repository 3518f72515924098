package recording_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/internal/hostile/recording"
)

// largest is the most that an attack has on the disk: a stranger sends no more.
const largest = 256 << 20

func TestAttacksAreFiles(t *testing.T) {
	names := map[string]bool{}
	for _, a := range recording.Attacks() {
		if names[a.Name] {
			t.Errorf("two attacks are called %q", a.Name)
		}
		names[a.Name] = true
		t.Run(a.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "evil.db")
			if err := a.Write(path); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if size := info.Size(); size > largest && a.Name != "a file that is mostly a hole" {
				t.Errorf("%d MB", size>>20)
			}
		})
	}
}
