package wire_test

import (
	"encoding/hex"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// A folder testdata/kept/N has output of programs whose formats had version N. Nothing writes it again: agents and
// fleets are upgraded one after the other, so each reads what the version before wrote. A change of a format adds a
// folder, with copies of the files in testdata, and its facts below.
const kept = "testdata/kept"

// facts of kept/1: an agent's push of 8 ranks, and a fleet's answers.
const (
	keptRanks   = 8
	keptSize    = 64
	keptLive    = 63
	keptBuckets = 3
)

func keptFile(t *testing.T, version int, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(kept, strconv.Itoa(version), name))
	if err != nil {
		t.Fatalf("%v; keep what version %d writes", err, version)
	}
	return string(b)
}

// versions returns the versions that must be readable: this one, and the one before.
func versions(now int) []int {
	if now == 1 {
		return []int{1}
	}
	return []int{now - 1, now}
}

func TestKeptPushesAreRead(t *testing.T) {
	t.Parallel()
	for _, v := range versions(wire.DataVersion) {
		b, err := hex.DecodeString(strings.ReplaceAll(keptFile(t, v, "push.hex"), "\n", ""))
		if err != nil {
			t.Fatal(err)
		}
		list, err := wire.ParseRequest(b)
		if err != nil || len(list) != 1 {
			t.Fatalf("version %d: %d pushes, %v", v, len(list), err)
		}
		p := &list[0]
		if p.Node != "gpu-node-0017.example" || p.Cluster != "research-east-1" || p.WorldSize != 512 {
			t.Errorf("version %d: of %q in %q, %d ranks", v, p.Node, p.Cluster, p.WorldSize)
		}
		h := &p.Health
		if h.Cohort != wire.Cohort("research-east-1", "llama-70b", "3", "NVIDIA H100 80GB HBM3") || h.Sent != sent ||
			h.Size != keptSize || h.Width != 3 || h.Merge != 1 || h.Reference != 8192 || h.Free || h.Others {
			t.Errorf("version %d: %+v", v, h)
		}
		want := health.Summary{Position: 123_456, N: 64, Lo: -1.61, Mid: -1.609, Hi: -1.608, Sigma: 0.011}
		if h.Echo != want {
			t.Errorf("version %d: echo %+v", v, h.Echo)
		}
		if len(h.Ranks) != keptRanks {
			t.Fatalf("version %d: %d ranks", v, len(h.Ranks))
		}
		for i := range h.Ranks {
			r := &h.Ranks[i]
			far := func(x float32) bool { return math.Abs(float64(x)+1.609) > 0.1 }
			if r.Rank != int32(136+i) || r.Newest != 123_458-uint64(i%3) || r.State != health.Active ||
				r.Mode != health.ModeFleet || r.Measured != health.MeasuredDevice || r.Exited || r.Place.Comm != 0xfeedbeef ||
				slices.ContainsFunc(r.X[:], far) || r.Own < 0.1 || r.Own > 0.2 || r.Amount < 7000 || r.Amount > 9000 {
				t.Errorf("version %d: rank %d: %+v", v, i, r)
			}
		}
	}
}

func TestKeptAnswersAreRead(t *testing.T) {
	t.Parallel()
	for _, v := range versions(wire.ReplyVersion) {
		parts := strings.Split(keptFile(t, v, "answer.txt"), "\n\n")
		if len(parts) != 4 {
			t.Fatalf("version %d: %d parts", v, len(parts))
		}
		overHTTP, err := wire.AnswerOfHTTP(headers(parts[0], http.CanonicalHeaderKey))
		checkKept(t, v, "HTTP", overHTTP, err)
		overGRPC, err := wire.AnswerOfGRPC(headers(parts[1], strings.ToLower))
		checkKept(t, v, "gRPC", overGRPC, err)
		polled, err := wire.ParseAnswer([]byte(parts[2]))
		checkKept(t, v, "a poll", polled, err)

		for i, url := range strings.Fields(parts[3]) {
			path, query, _ := strings.Cut(url, "?")
			p, err := wire.ParsePoll(query)
			if err != nil || path != wire.PollPath || p.Cluster == "" || (p.Health.Cohort == 255) != (i == 0) {
				t.Errorf("version %d: %s: %+v, %v", v, url, p, err)
			}
		}
	}
}

// headers reads lines of "name: value".
func headers(text string, key func(string) string) map[string][]string {
	h := map[string][]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		h[key(name)] = []string{value}
	}
	return h
}

func checkKept(t *testing.T, version int, over string, a wire.Answer, err error) {
	t.Helper()
	if err != nil || a.Reply == nil || math.Abs(a.Threshold-1/1.1) > 1e-9 || !a.Quorum {
		t.Errorf("version %d over %s: %+v, %v", version, over, a, err)
		return
	}
	r := a.Reply
	if r.Width != 3 || r.Merge != 1 || r.Reference != 8192 || r.Size != keptSize || r.Live != keptLive || r.Degraded ||
		len(r.Buckets) != keptBuckets {
		t.Errorf("version %d over %s: %+v", version, over, r)
	}
	for i, s := range r.Buckets {
		if want := (health.Summary{
			Position: 123_454 + uint64(i), N: 60 + uint32(i), Lo: -1.61, Mid: -1.609, Hi: -1.608, Sigma: 0.011,
		}); s != want {
			t.Errorf("version %d over %s: bucket %d: %+v", version, over, i, s)
		}
	}
}

// Events have no version: fields are only added, so all kept events are read.
func TestKeptEventsAreRead(t *testing.T) {
	t.Parallel()
	folders, err := os.ReadDir(kept)
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d folders, %v", len(folders), err)
	}
	for _, f := range folders {
		b, err := os.ReadFile(filepath.Join(kept, f.Name(), "events.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(b)) {
			n++
			if e, err := wire.ParseEvent([]byte(line)); err != nil || e.Type == "" || e.At.IsZero() {
				t.Errorf("%s: line %d: %+v, %v", f.Name(), n, e, err)
			}
		}
		if n == 0 {
			t.Errorf("%s: no event", f.Name())
		}
	}
}
