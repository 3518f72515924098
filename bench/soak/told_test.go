package soak

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/internal/kerneltest"
)

// until waits for a condition; the time is only for a test that fails.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: never", what)
		}
	}
}

// The kernel reports a process from its fork to its end, with the names that it has.
func TestLivesAreTold(t *testing.T) {
	kerneltest.Require(t)
	ctx, stop := context.WithCancel(t.Context())
	w, err := watchLives(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); <-w.done }()
	cmd := exec.Command("/bin/sh", "-c", "read x; printf renamed >/proc/self/comm; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := uint32(cmd.Process.Pid)
	about := func() (x life) {
		w.with(func(l lives) {
			if of := l.of[pid]; len(of) > 0 {
				x = *of[len(of)-1]
				x.names = slices.Clone(x.names)
			}
		})
		return x
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	until(t, "it has begun", func() bool {
		x := about()
		return x.from > 0 && x.to == 0 && slices.Contains(x.names, filepath.Base(shell))
	})
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	until(t, "it has another name", func() bool { return slices.Contains(about().names, "renamed") })
	in.Close()
	_ = cmd.Wait() // its last read fails
	until(t, "it has ended", func() bool { return about().to > 0 })

	self := uint32(os.Getpid()) // it was there before
	w.with(func(l lives) {
		if of := l.of[self]; len(of) != 1 || of[0].from != 0 || len(of[0].names) == 0 || l.blind {
			t.Errorf("of this process: %+v", of)
		}
	})
}

// A process that goes on to its next program at once may have had a name that nobody read: then it is known that there
// are others.
func TestNamesThatNobodyReadAreKnownToBeMissing(t *testing.T) {
	kerneltest.Require(t)
	ctx, stop := context.WithCancel(t.Context())
	w, err := watchLives(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { stop(); <-w.done }()
	for range 30 {
		cmd := exec.Command("nice", "env", "sleep", "0.01")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		var x life
		until(t, "it has ended", func() bool {
			w.with(func(l lives) {
				if of := l.of[uint32(cmd.Process.Pid)]; len(of) > 0 {
					x = *of[len(of)-1]
					x.names = slices.Clone(x.names)
				}
			})
			return x.to > 0
		})
		for _, name := range []string{"nice", "env", "sleep"} {
			if !x.unnamed && !slices.Contains(x.names, name) {
				t.Fatalf("it had the name %s, too: %+v", name, x)
			}
		}
	}
}
