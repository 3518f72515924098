package fleetclient

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/cluster/wire"
)

// An agent may be newer than its fleet for a while: it reads answers of earlier versions.
func TestFleetsOfEarlierVersionsAreUnderstood(t *testing.T) {
	files, err := filepath.Glob("../wire/testdata/kept/*/answer.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(b), "\n\n") // HTTP headers, gRPC headers, the answer to a poll, polls
		c, _ := fake(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == wire.PollPath {
				_, _ = w.Write([]byte(parts[2]))
				return
			}
			for line := range strings.Lines(parts[0]) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				w.Header().Set(name, value)
			}
		})
		for name, ask := range map[string]func() (wire.Answer, error){
			"push": func() (wire.Answer, error) { return c.Push(t.Context(), some()) },
			"poll": func() (wire.Answer, error) { return c.Poll(t.Context(), wire.Poll{}) },
		} {
			a, err := ask()
			if err != nil || a.Reply == nil || !a.Quorum {
				t.Errorf("%s: %s: %+v, %v", file, name, a, err)
			} else if r := a.Reply; r.Size != 64 || r.Live != 63 || len(r.Buckets) != 3 {
				t.Errorf("%s: %s: %+v", file, name, r)
			}
		}
		if n := c.Counts(); n.Failed != 0 || n.Faults != [wire.Faults]uint64{} {
			t.Errorf("%s: %+v", file, n)
		}
	}
}
