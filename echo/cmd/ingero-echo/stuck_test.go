package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Echo ends if its engine does not open again, and the next one has all that was acknowledged. A limit on the size of
// files makes a write fail, so that the engine is opened again; the file is on lease then, so that opening it hangs.
func TestAStuckEngineEndsTheProgram(t *testing.T) {
	path, otlp, api := filepath.Join(t.TempDir(), "echo.db"), free(t), free(t)
	args := []string{
		"serve", "--db-path", path, "--otlp-addr", otlp, "--otlp-http-addr", "", "--mcp-addr", api, "--health-addr", "",
	}
	t.Setenv(patienceEnv, "1s")
	first, rest := child(t, args...)
	conn, err := grpc.NewClient(otlp, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := pmetricotlp.NewGRPCClient(conn)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	if err := send(ctx, client, points(1, 0)); err != nil {
		t.Fatal(err)
	}

	lease := onLease(t, path)
	log, err := os.Stat(path + ".wal")
	if err != nil || log.Size() == 0 {
		t.Fatalf("there is no log to be written: %v", err)
	}
	limit(t, first.Process.Pid, uint64(log.Size()))
	once, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := client.Export(once, points(1, 1)); status.Code(err) != codes.Unavailable {
		t.Fatalf("a request that could not be written: %v", err)
	}
	said := rest(t)
	var exit *exec.ExitError
	if err := first.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v, want 1", err)
	}
	for _, want := range []string{"echo.db is not open again after 1s", "the program ends, to be started again"} {
		if !strings.Contains(said, want) {
			t.Errorf("it did not say %q:\n%s", want, said)
		}
	}

	if err := lease.Close(); err != nil {
		t.Fatal(err)
	}
	second, _ := child(t, args...)
	e := &echo{at: map[string]string{"questions": api}}
	if _, got := e.ask(t, "select count(*) from events"); !strings.Contains(got, `"rows":[[500]]`) {
		t.Errorf("after it was started again: %s", got)
	}
	if err := second.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("after Ctrl+C: %v", err)
	}
}

// onLease puts a copy in the place of a file, and takes a lease on it: until that is closed, or the kernel ends it
// after 45 seconds, another process that opens the file waits.
func onLease(t *testing.T, path string) *os.File {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(path+".copy", b, 0o600), os.Rename(path+".copy", path)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGIO) // the kernel's request to give the lease back
	t.Cleanup(func() { signal.Reset(syscall.SIGIO) })
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Fatal(err)
	}
	return f
}
