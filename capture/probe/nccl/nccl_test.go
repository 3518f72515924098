package nccl_test

import (
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/account/collective"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/nccl"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// open attaches a tracer to the stand-ins.
func open(t *testing.T) (*probe.Tracer, cudastub.Files) {
	t.Helper()
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := probe.Open(probe.Options{Backend: probe.Backend(kerneltest.Backend())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	for _, l := range all.Libraries() {
		for _, name := range []string{"libcudart.so.12", "libcuda.so.1", "libnccl.so.2"} {
			if !l.File.MatchString(name) {
				continue
			}
			if _, err := tr.Attach(l, filepath.Join(files.LibDir, name), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tr, files
}

// exercise has two ranks call every function once, and returns the calls of each.
func exercise(t *testing.T) (calls [2][]event.Call, lost uint64, backend probe.Backend, id uint64) {
	t.Helper()
	kerneltest.Require(t)
	tr, files := open(t)
	r, err := files.StartRanks(t.Context(), cudastub.Options{}, "--exercise", "1")
	if err != nil {
		t.Fatal(err)
	}
	truth, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	var rec probe.Records
	tr.Drain(&rec, 1<<30)
	for rank, pid := range truth.PIDs {
		for _, c := range rec.Calls {
			if int(c.PID) == pid {
				calls[rank] = append(calls[rank], c)
			}
		}
	}
	n, err := tr.Losses()
	if err != nil {
		t.Fatal(err)
	}
	lost = n[event.LostComm] + n[event.LostCall] + n[event.LostUnmatched]
	return calls, lost, tr.Backend(), published(t, truth.UniqueID)
}

// published is the hash of a ncclUniqueId that other programs send as nccl.comm_id_hash: its 16 words folded with the
// finaliser of splitmix64 (without its increment).
func published(t *testing.T, id string) uint64 {
	t.Helper()
	b, err := hex.DecodeString(id)
	if err != nil || len(b) != 128 {
		t.Fatalf("the id is %q: %v", id, err)
	}
	h := uint64(0x9e3779b97f4a7c15)
	for ; len(b) > 0; b = b[8:] {
		h ^= binary.LittleEndian.Uint64(b)
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

func TestEveryFunctionIsRecordedWithItsArguments(t *testing.T) {
	calls, lost, backend, id := exercise(t)
	if lost != 0 {
		t.Errorf("%d losses", lost)
	}
	const stream, other = 0x5000, 0x6000
	type want struct {
		op                string
		bytes             uint64
		seq               uint32
		dtype, redop      uint8
		peer              int32
		stream            uint64
		grouped, hasGroup bool
	}
	files, err := cudastub.Extract(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	found, err := nccl.Library().Find(filepath.Join(files.LibDir, "libnccl.so.2"))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{} // what the stand-in does not have; probe tests that it is timed
	for _, name := range found.Missing {
		missing[name] = true
	}
	for rank, list := range calls {
		peer := int32(1 - rank)
		checkMade(t, rank, calls)
		wants := []want{
			{"ncclAllReduce", 4000, 1, 7, 4, -1, stream, false, true},
			{"ncclBroadcast", 4000, 2, 6, 0, 1, stream, false, true},
			{"ncclReduce", 24000, 3, 8, 2, 1, stream, false, true},
			{"ncclAllGather", 4000, 4, 0, 0, -1, other, false, true},
			{"ncclReduceScatter", 10000, 5, 9, 0, -1, other, false, true},
			{"ncclBroadcast", 6000, 6, 1, 0, 1, stream, false, true}, // by ncclBcast
			{"ncclAlltoAll", 280, 7, 7, 0, -1, stream, false, true},
			{"ncclGather", 320, 8, 7, 0, 1, stream, false, true},
			{"ncclScatter", 360, 9, 7, 0, 0, stream, false, true},
			{"ncclAllReduce", 11, 1, 0, 0, -1, stream, false, false}, // of the parts of a split
			{"ncclAllReduce", 12, 1, 0, 0, -1, stream, false, false}, // of a shrunk one
			{"ncclAllReduce", 13, 1, 0, 0, -1, stream, false, true},
			{"ncclSend", 2400, 1, 2, 0, peer, stream, true, true},
			{"ncclRecv", 2400, 1, 2, 0, peer, stream, true, true},
			{"ncclAllReduce", 80, 1, 5, 3, -1, stream, true, false},
			{"ncclAllReduce", 80, 1, 5, 3, -1, stream, true, false},
			{"ncclAllReduce", 80, 1, 5, 3, -1, stream, true, false},
		}
		var inits []event.Call
		names := map[string]int{}
		for _, c := range list {
			names[c.Op.String()]++
			if c.Op.String() == "ncclCommInitRank" || c.Op.String() == "ncclCommInitAll" {
				inits = append(inits, c)
			}
		}
		if len(inits) != 2 || inits[0].Args[0] == 0 || inits[0].Args[1] != 2 || inits[0].Args[2] != uint64(rank) ||
			inits[0].Args[3] != id || inits[1].Args[1] != 3 ||
			inits[1].Args[0] == 0 {
			t.Errorf("rank %d: initialised by %+v", rank, inits)
		}
		tracker := collective.NewTracker()
		tracker.Calls(list)
		got := tracker.Take(0, nil)
		slices.SortStableFunc(got, func(a, b event.Collective) int { return int(int64(a.Start - b.Start)) })
		for i := range got[:max(len(got)-5, 0)] {
			if c := &got[i]; c.Ret == 0 && (c.CommID == 0 || c.Rank != int32(rank)) {
				t.Errorf("rank %d: not matched: %+v", rank, c)
			}
		}
		failed := slices.IndexFunc(got, func(c event.Collective) bool { return c.Ret != 0 })
		if failed < 0 || got[failed].Ret != 4 || got[failed].Seq != 0 {
			t.Errorf("rank %d: the failing call is missing, or numbered", rank)
		} else {
			got = slices.Delete(got, failed, failed+1)
		}
		if len(got) != len(wants) {
			t.Errorf("rank %d: %d collectives, want %d: %v", rank, len(got), len(wants), names)
			continue
		}
		for i, c := range got {
			w := wants[i]
			if c.Op.String() != w.op || c.Bytes != w.bytes || c.Seq != w.seq || c.DataType != w.dtype || c.ReduceOp != w.redop ||
				c.Peer != w.peer || c.Stream != w.stream || (c.Group != 0) != w.grouped {
				t.Errorf("rank %d, call %d: %+v, want %+v", rank, i, c, w)
			}
			if w.hasGroup && (c.Rank != int32(rank) || c.Ranks != 2 || c.CommID != inits[0].Args[3]) {
				t.Errorf("rank %d, call %d: rank %d of %d in %x", rank, i, c.Rank, c.Ranks, c.CommID)
			}
			if w.grouped && c.At <= c.Start || !w.grouped && c.At != c.Start {
				t.Errorf("rank %d, call %d: queued at %d, called at %d", rank, i, c.At, c.Start)
			}
			if c.SyncOp == 0 || c.SyncEnd < c.At || c.Duration == 0 {
				t.Errorf("rank %d, call %d: nothing waited for it: %+v", rank, i, c)
			}
		}
		for _, op := range nccl.Library().Ops {
			elsewhere := op.Name == "ncclCommInitRankConfig" || op.Name == "ncclGetUniqueId" && rank > 0 || missing[op.Name] ||
				op.Seldom && backend == probe.BackendPerf // which leaves those out
			if !elsewhere && names[op.Name] == 0 {
				t.Errorf("rank %d: no %s", rank, op.Name)
			}
		}
	}
}

// checkMade looks at how communicators were made of others, and at what was asked.
func checkMade(t *testing.T, rank int, calls [2][]event.Call) {
	t.Helper()
	get := func(op string, n int) event.Call {
		for _, c := range calls[rank] {
			if c.Op.String() == op {
				if n--; n < 0 {
					return c
				}
			}
		}
		t.Errorf("rank %d: no %s", rank, op)
		return event.Call{}
	}
	parent := get("ncclCommInitRank", 0).Args[0]
	part, none, less := get("ncclCommSplit", 0), get("ncclCommSplit", 1), get("ncclCommShrink", 0)
	if a := part.Args; a[0] == 0 || a[0] == parent || a[1] != parent || a[2] != 7 || int32(a[3]) != -int32(rank) {
		t.Errorf("rank %d: split %+v", rank, part)
	}
	if a := none.Args; a[1] != parent || (a[0] == 0) != (rank == 1) || rank == 1 && uint32(a[2]) != ^uint32(0) {
		t.Errorf("rank %d: split %+v", rank, none)
	}
	if a := less.Args; a[0] == 0 || a[1] != parent || a[2] != 0 || a[3] != 1 {
		t.Errorf("rank %d: shrunk %+v", rank, less)
	}
	if c := get("ncclCommCount", 0); c.Args[0] != part.Args[0] || c.Args[1] != 2 {
		t.Errorf("rank %d: count %+v", rank, c)
	}
	if c := get("ncclCommUserRank", 0); c.Args[0] != part.Args[0] || c.Args[1] != uint64(1-rank) {
		t.Errorf("rank %d: its rank %+v", rank, c)
	}
	if c := get("ncclCommInitRankScalable", 0); c.Args[1] != 2 || c.Args[2] != uint64(rank) || c.Args[3] == 0 ||
		c.Args[3] != get("ncclCommInitRank", 0).Args[3] {
		t.Errorf("rank %d: initialised with %+v", rank, c)
	}
	if c := get("ncclBcast", 0); c.Args[0] != parent || c.Args[1] != 6000 || uint32(c.Args[2]) != 0 {
		t.Errorf("rank %d: bcast %+v", rank, c)
	}
}

// A collective that does not return is in flight, as any call.
func TestCollectivesInFlightAreSeen(t *testing.T) {
	kerneltest.Require(t)
	tr, files := open(t)
	r, err := files.StartRanks(t.Context(), cudastub.Options{Behaviour: "ncclAllReduce:sleep=1500ms"}, "--steps", "1")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(); err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]event.InFlight{}
	for end := time.Now().Add(10 * time.Second); len(seen) < 2 &&
		time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var rec probe.Records
		list, err := tr.InFlight(nil, nil, &rec)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			seen[f.PID] = f
		}
	}
	truth, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for rank, pid := range truth.PIDs {
		f := seen[uint32(pid)]
		if f.Op.String() != "ncclAllReduce" || f.Doing != event.Blocked || f.Class != event.Sleep || f.Age() < 1e9 ||
			f.Stack == 0 {
			t.Errorf("rank %d is in %+v", rank, f)
		}
		if f.Args[0] == 0 || f.Args[1] == 0 || f.Args[3] != 0x5000 {
			t.Errorf("rank %d: communicator %#x, %d bytes, stream %#x", rank, f.Args[0], f.Args[1], f.Args[3])
		}
	}
}
