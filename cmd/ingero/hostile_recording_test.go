package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/internal/hostile/recording"
)

const (
	// mostReader is what a command may take for any recording, in KiB.
	mostReader = 600 << 10
	// wall is where a command that fails this test is ended, so that it harms nobody, in bytes.
	wall = 3 << 30
)

// slow are words in the names of recordings that take long to make. `make hostile` tries them, too.
var slow = []string{"million", "thousand", "MB", "hole", "names for everybody", "goes round"}

// TestHostileRecordingsTakeLittle: whatever a stranger's file holds, explaining and querying it is refused or done in
// bounded memory, and never ends in an internal error.
func TestHostileRecordingsTakeLittle(t *testing.T) {
	tables := 0
	for _, a := range recording.Attacks() {
		if containsAny(a.Name, slow) {
			continue
		}
		if strings.Contains(a.Name, "is an endless view") && !strings.HasPrefix(a.Name, "0.8") {
			if tables++; tables%8 != 0 { // they are all refused in the same way
				continue
			}
		}
		t.Run(a.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "evil.db")
			if err := a.Write(path); err != nil {
				t.Fatal(err)
			}
			out, kb := confinedRun(t, "explain", path)
			if kb > mostReader || strings.Contains(out, "internal error") || strings.Contains(out, "goroutine ") {
				t.Errorf("%d MB: %.600s", kb>>10, out)
			}
			if strings.Contains(a.Name, "table is an endless view") && !strings.Contains(out, "made to look like one") {
				t.Errorf("not refused: %.600s", out)
			}
		})
	}
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// confinedRun runs this program behind a wall, and returns what it says and the memory that it had at most, in KiB.
func confinedRun(t *testing.T, args ...string) (out string, kb int64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ingero", args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: wall, Max: wall}, nil); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // a recording that is refused is an error
	return said.String(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
}

// TestQuestionsTakeNothingFromTheServer: a statement that gathers without end is ended, and the server is as it was.
func TestQuestionsTakeNothingFromTheServer(t *testing.T) {
	db, hash := recordingOf(t)
	s := serve(t, nil, "dashboard", "--db", db, "--http", "127.0.0.1:0", "--no-tls")
	for sql, want := range map[string]int{
		"select count(*) from events": http.StatusOK,
		"with recursive r(n) as (select 1 union all select n + 1 from r where n < 2000) " +
			"select json_group_array(hex(zeroblob(100000))) from r": http.StatusBadRequest,
		"delete from call": http.StatusBadRequest,
	} {
		body, err := json.Marshal(map[string]string{"sql": sql})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.Post("http://"+s.host()+"/api/v1/query", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if r.Body.Close(); r.StatusCode != want {
			t.Errorf("%.80s: status %d, want %d", sql, r.StatusCode, want)
		}
	}
	if peak := peakRSS(t, s.cmd.Process.Pid); peak > 300<<20 { // 128 MB of SQLite, and what the server takes itself
		t.Errorf("the server took %d MB", peak>>20)
	}
	if fileHash(t, db) != hash {
		t.Error("the recording has changed")
	}
}
