package main

import (
	"io"
	"os"
	"os/exec"
	"runtime/debug"

	"github.com/ingero-io/ingero/lib/commands"
	"github.com/ingero-io/ingero/store/apart"
)

const (
	// readMemory is where Go's collector begins to work harder in a command that reads recordings, in bytes. Explaining
	// ten million calls takes less. Reading ends with an error a bit above it: store/sqlite.
	readMemory = 256 << 20
	// readSQLite is what SQLite may take in such a command, in bytes.
	readSQLite = 128 << 20
)

// toRead is the recording to read, as database finds it, for a command that does nothing but read: it bounds the memory
// that a stranger's recording can take.
func (c *console) toRead(asked string) (string, error) {
	path, err := c.database(asked)
	if err != nil {
		return "", err
	}
	return path, c.boundMemory()
}

// boundMemory bounds the memory of this process, once. A process that traces does not do so: SQLite's bound would hold
// for what is recorded, too.
func (c *console) boundMemory() error {
	if c.limitSQLite == nil {
		return nil // a test, or it was done before
	}
	limit := c.limitSQLite
	c.limitSQLite = nil
	debug.SetMemoryLimit(readMemory)
	return limit(readSQLite)
}

// answerSQL is the first argument of the processes that answer SQL. It is no command: nobody types it.
const answerSQL = "answer-sql"

// asker answers SQL in processes of their own, so many at a time. It is for the process that traces, for which
// SQLite has no bound. Each question takes some tenths of a second more than in the process itself.
func asker(atOnce int) *apart.Asker {
	return apart.New(func() *exec.Cmd {
		// The program that runs, also if its file has been replaced.
		c := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"ingero", answerSQL}, Env: []string{}}
		for _, name := range []string{"TMPDIR", "SQLITE_TMPDIR"} { // where large sorts are made
			if dir := os.Getenv(name); dir != "" {
				c.Env = append(c.Env, name+"="+dir)
			}
		}
		return c
	}, atOnce)
}

// answered reports whether the process was started to answer SQL, and if so does it.
func answered(args []string, in io.Reader, out, log io.Writer) (code int, ok bool) {
	if len(args) != 1 || args[0] != answerSQL {
		return 0, false
	}
	if err := apart.Answer(in, out); err != nil {
		_, _ = io.WriteString(log, err.Error()) // nobody else reads it
		return commands.ExitFailure, true
	}
	return 0, true
}
