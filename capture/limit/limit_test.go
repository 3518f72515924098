package limit_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/capture/limit"
)

func TestWhatExceedsALimitIsSaid(t *testing.T) {
	if err := limit.Check("symbols", 5, 5, "entries"); err != nil {
		t.Error(err)
	}
	err := fmt.Errorf("read x: %w", limit.Check("symbols", 6, 5, "entries"))
	if want := "read x: 6 entries of symbols, more than the limit of 5"; !limit.Is(err) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	err = &limit.Exceeded{What: "names", Most: 5, Unit: "bytes"}
	if want := "more than 5 bytes of names, which is the limit"; !limit.Is(err) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	err = &limit.Exceeded{What: "compressed names"}
	if want := "compressed names are not read"; !limit.Is(err) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if limit.Is(os.ErrNotExist) || limit.Is(nil) {
		t.Error("another error exceeds a limit")
	}
}

// TestEachFileIsNamedOnceAndNotAnyNumber: those who make files choose how many.
func TestEachFileIsNamedOnceAndNotAnyNumber(t *testing.T) {
	var out bytes.Buffer
	l := limit.NewLog(slog.New(slog.NewTextHandler(&out, nil)))
	why := limit.Check("symbols", 6, 5, "entries")
	for i := range 10 * limit.Warnings {
		for range 2 {
			l.Refused(fmt.Sprintf("/tmp/%d.so", i), why)
		}
	}
	text := out.String()
	if n := strings.Count(text, "\n"); n != limit.Warnings+1 {
		t.Errorf("%d lines, want %d", n, limit.Warnings+1)
	}
	if strings.Count(text, "file=/tmp/0.so ") != 1 ||
		!strings.Contains(text, `why="6 entries of symbols, more than the limit of 5"`) {
		t.Errorf("said %.300s", text)
	}
}

// TestOnlyRegularFilesAreOpened, and nothing waits for the other end of a FIFO.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	fifo, file, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.WriteFile(file, []byte("12345"), 0o600),
		os.Symlink("link", link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, dir, "/dev/zero"} {
		if _, err := limit.Open(path); !errors.Is(err, limit.ErrNotRegular) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := limit.Open(link); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link to itself: %v", err)
	}
	f, err := limit.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for most, want := range map[int]string{4: "1234 false", 5: "12345 true", 6: "12345 true"} {
		b, whole, err := limit.ReadFile(file, most)
		if got := fmt.Sprintf("%s %v", b, whole); err != nil || got != want {
			t.Errorf("%d bytes: %s, %v; want %s", most, got, err, want)
		}
	}
	if b, whole, err := limit.ReadFile("/dev/zero", 100); err != nil || len(b) != 100 || whole {
		t.Errorf("read %d bytes of an endless file, %v, %v", len(b), whole, err)
	}
	if b, _, err := limit.ReadFile(fifo, 100); len(b) != 0 {
		t.Errorf("read %d bytes of a FIFO: %v", len(b), err)
	}
}
