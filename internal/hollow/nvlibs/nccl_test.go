package nvlibs_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/internal/hollow"
	"github.com/ingero-io/ingero/internal/hollow/nvlibs"
)

// rank is a program that joins a communicator as rank 0. Its arguments are the number of ranks and
// the id.
const rank = `
#include <stdlib.h>
#include <string.h>
struct id { char bytes[128]; };
int ncclCommInitRank(void **, int, struct id, int);
int main(int argc, char **argv)
{
	void *comm;
	struct id id = {{0}};
	memcpy(id.bytes, argv[2], 16);
	return ncclCommInitRank(&comm, atoi(argv[1]), id, 0);
}`

// If a rank is killed while it waits for another one, its shared memory region stays; the next rank
// removes it.
func TestRegionsOfDeadRanksAreRemoved(t *testing.T) {
	dir := t.TempDir()
	source, bin, gpu := filepath.Join(dir, "rank.c"), filepath.Join(dir, "rank"), t.TempDir()
	if err := os.WriteFile(source, []byte(rank), 0o600); err != nil {
		t.Fatal(err)
	}
	below, err := hollow.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := nvlibs.Build(t.Context(), below, gpu, "libnccl.so.2"); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command("gcc", "-o", bin, source, filepath.Join(gpu, "libnccl.so.2"))
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	start := func(ranks, id string) *exec.Cmd {
		cmd := exec.Command(bin, ranks, id)
		cmd.Env = append(os.Environ(), hollow.Env(gpu, filepath.Join(dir, "shared"))...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	// The name of a region is the id's first two words, in hexadecimal.
	dead := "/dev/shm/hollow-nccl-" + strings.Repeat("61", 16)
	alive := "/dev/shm/hollow-nccl-" + strings.Repeat("62", 16)
	appears := func(path string) { // another process makes it: polled for up to 5 s
		for range 500 {
			if _, err := os.Stat(path); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("%s does not appear", path)
	}
	killed, waits := start("2", "aaaaaaaaaaaaaaaa"), start("2", "bbbbbbbbbbbbbbbb")
	defer func() {
		_ = waits.Process.Kill() // it does not end by itself
		_ = waits.Wait()
		os.Remove(alive)
	}()
	appears(dead)
	appears(alive)
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // the error says that it was killed
	if err := start("1", "cccccccccccccccc").Wait(); err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{
		dead: false, alive: true, "/dev/shm/hollow-nccl-63636363636363636363636363636363": false,
	} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) == there {
			t.Errorf("%s: %v", path, err)
		}
	}
}
