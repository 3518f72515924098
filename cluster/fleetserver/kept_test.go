package fleetserver_test

import (
	"bytes"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetserver"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Fleets are upgraded before agents: pushes and polls of earlier versions are answered.
func TestAgentsOfEarlierVersionsAreAnswered(t *testing.T) {
	const sent = 1_790_000_000_123_456_789 * time.Nanosecond // as in the files
	folders, err := filepath.Glob("../wire/testdata/kept/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d folders, %v", len(folders), err)
	}
	read := func(folder, name string) string {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, folder := range folders {
		s := fleetserver.New(fleetserver.Options{
			Now: func() time.Duration { return sent }, Wall: func() time.Time { return time.Unix(0, int64(sent)) },
		})
		push, err := hex.DecodeString(strings.ReplaceAll(read(folder, "push.hex"), "\n", ""))
		if err != nil {
			t.Fatal(err)
		}
		w := post(s.Handler(), bytes.NewReader(push))
		a := answer(t, w)
		if w.Code != http.StatusOK || w.Body.Len() != 0 || a.Reply == nil || a.Reply.Size != 64 || a.Reply.Live == 0 {
			t.Errorf("%s: %d %q %+v %+v", folder, w.Code, w.Body, a, a.Reply)
		}
		polls := strings.Fields(read(folder, "answer.txt")[strings.LastIndex(read(folder, "answer.txt"), "\n\n"):])
		for _, url := range polls {
			path, query, _ := strings.Cut(url, "?")
			if w := get(s.Handler(), query); path != wire.PollPath || w.Code != http.StatusOK {
				t.Errorf("%s: %s: %d %s", folder, url, w.Code, w.Body)
			}
		}
		c := s.Counts()
		if c.Pushes != 1 || c.Polls != uint64(len(polls)) || len(polls) < 2 || c.Faults != [wire.Faults]uint64{} {
			t.Errorf("%s: %+v, %d polls", folder, c, len(polls))
		}
	}
}
