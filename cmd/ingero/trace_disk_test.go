package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// tracedLine is a line of trace --json.
type tracedLine struct {
	Type        string
	Calls       uint64
	NotRecorded *jsonUnwritten `json:"not_recorded"`
	Lost        map[string]uint64
}

// fillDisk writes a file until the disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// A disk that becomes full while a program is traced ends neither the program nor the tracer. Once there is room,
// the recording goes on, and says what it lacks.
func TestAFullDiskEndsNeitherTheCommandNorTheTracer(t *testing.T) {
	kerneltest.Require(t)
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	disk, home := t.TempDir(), t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	}()
	db, filling := filepath.Join(disk, "run.db"), filepath.Join(disk, "fill")
	// The program works until its input ends, and then says how many steps it made.
	cmd := exec.CommandContext(t.Context(), "ingero", "trace", "--json", "--db", db, "--", "sh", "-c",
		`"$0" loop --seconds 12 && exit 7; exit 1`, files.Victim)
	cmd.Env = append(os.Environ(), "HOME="+home, "LD_LIBRARY_PATH="+files.LibDir, "SUDO_UID=", "SUDO_GID=", databaseEnv+"=")
	said := new(strings.Builder)
	cmd.Stderr = said // and the program's output
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	last, paused, resumed := followFullDisk(t, out, filling)
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the program ended with %v:\n%s", err, said)
	}
	if !strings.Contains(said.String(), `"steps":`) {
		t.Errorf("the program did not end by itself:\n%s", said)
	}
	if !paused || !resumed || last.Type != "summary" || last.Lost["stored"] == 0 {
		t.Errorf("paused: %v, resumed: %v, last line %+v", paused, resumed, last)
	}
	for _, want := range []string{"cannot be written: the disk was full", "the recording is written again"} {
		if n := strings.Count(said.String(), want); n != 1 {
			t.Errorf("said %d times %q:\n%s", n, want, said)
		}
	}
	r := runIn(t, home, "query", "--db", db, "--format", "csv",
		"select (select count(*) from pauses where why = 'the disk was full'), (select sum(count) > 0 from losses where kind = "+
			"'stored'), (select count(*) from sessions), (select sum(calls) from op_seconds)")
	if r.code != 0 || !strings.Contains(r.out, "1,1,1,"+asJSON(last.Calls)+"\n") {
		t.Errorf("query says %q (%s), want all of %d calls", r.out, r.err, last.Calls)
	}
	if r := runIn(t, home, "explain", "--db", db); r.code != 0 || !strings.Contains(r.out, "not recorded from ") ||
		!strings.Contains(r.out, "the disk was full") {
		t.Errorf("explain does not say what is missing: %+v", r)
	}
}

func asJSON(n uint64) string {
	b, _ := json.Marshal(n) // a number can be encoded
	return string(b)
}

// followFullDisk reads the lines of a tracer. It fills the disk once calls are recorded, and makes room once
// nothing can be written.
func followFullDisk(t *testing.T, out io.Reader, filling string) (last tracedLine, paused, resumed bool) {
	t.Helper()
	filled := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var l tracedLine
		if json.Unmarshal(lines.Bytes(), &l) != nil || l.Type != "second" && l.Type != "summary" {
			continue
		}
		last = l
		switch {
		case !filled && l.Calls > 0:
			fillDisk(t, filling)
			filled = true
		case !paused && l.NotRecorded != nil:
			paused = true
			if err := os.Remove(filling); err != nil {
				t.Error(err)
			}
		case paused && l.Type == "second" && l.NotRecorded == nil:
			resumed = true
		}
	}
	return last, paused, resumed
}
