package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

// marksOf are marks of a thread from a time on, 10 ns apart: ranges within ranges, of a domain, that were
// begun before, that do not end, and that another thread ends. Without a tool levels are -2.
func marksOf(t testing.TB, thread event.Thread, at uint64) (list []event.Mark) {
	add := func(op string, m event.Mark) {
		m.Op, m.Start, m.Duration = opOf(t, op), at, 2
		if m.TID == 0 {
			m.Thread = thread
		}
		if k := m.Kind(); k == event.MarkPush || k == event.MarkPop {
			m.Level = -2
		}
		list, at = append(list, m), at+10
	}
	other := event.Thread{PID: thread.PID, TID: thread.TID + 4}
	add("nvtxRangePop", event.Mark{})
	add("nvtxRangePushA", event.Mark{Text: "step 1"})
	add("nvtxRangePushEx", event.Mark{Text: "forward", Category: 7})
	add("nvtxDomainRangePushEx", event.Mark{Domain: 0xd0, Message: 0xabc, Handle: true})
	add("nvtxRangePushA", event.Mark{Text: "elsewhere", Thread: other})
	add("nvtxRangePop", event.Mark{})
	add("nvtxMarkA", event.Mark{Text: "saved", Message: 1 << 63})
	add("nvtxRangePop", event.Mark{})
	add("nvtxRangePushA", event.Mark{Text: "step 2"})
	add("nvtxDomainRangePop", event.Mark{Domain: 0xd0})
	add("nvtxRangePop", event.Mark{Thread: other})
	add("nvtxRangeStartA", event.Mark{Text: "epoch", Range: 1<<32 + 5})
	add("nvtxRangeEnd", event.Mark{Range: 1<<32 + 5, Thread: other})
	add("nvtxRangeStartA", event.Mark{Text: "no tool"})
	add("nvtxRangeEnd", event.Mark{})
	return list
}

func TestRangesOfMarksAreMatched(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	w, err := storetest.OpenWriter(path, sqlite.Options{})
	must(t, err)
	const at = 1_700_000_000_000_000_000
	marks := marksOf(t, event.Thread{PID: 5, TID: 6}, at)
	must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Marks: marks}}}))
	must(t, w.Close())
	var got []string
	for _, r := range query(t, path, fmt.Sprintf(
		"select timestamp - %d, tid, kind, domain, coalesce(text, '-'), duration_ns, ended - %[1]d "+
			"from nvtx_ranges order by 1", at)) {
		got = append(got, fmt.Sprint(r...))
	}
	want := []string{
		fmt.Sprint(10, 6, "push", 0, "step 1", 60, 70), fmt.Sprint(20, 6, "push", 0, "forward", 30, 50),
		fmt.Sprint(30, 6, "push", 0xd0, "-", 60, 90), fmt.Sprint(40, 10, "push", 0, "elsewhere", 60, 100),
		fmt.Sprint(80, 6, "push", 0, "step 2", nil, nil), fmt.Sprint(110, 6, "start", 0, "epoch", 10, 120),
		fmt.Sprint(130, 6, "start", 0, "no tool", nil, nil),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for sql, want := range map[string]string{
		"select count(*), count(text), sum(kind = 'pop') from nvtx_marks":       "[[15 7 5]]",
		"select text, level, kind from \"nvtxRangePushEx\"":                     "[[forward -2 push]]",
		"select range_id from nvtx_marks where kind = 'end' order by timestamp": "[[4294967301] [<nil>]]",
		"select message from nvtx_marks where op = 'nvtxDomainRangePushEx'":     "[[2748]]",
		"select count(*) from events where source = 10":                         "[[0]]",
		"select count(*) from calls":                                            "[[0]]",
		"select count(*) from threads where dispatch":                           "[[0]]",
		"select sum(calls) from op_seconds":                                     "[[<nil>]]",
		"select name, source_id from ops where op_number = 2561":                "[[nvtxMarkA 10]]",
	} {
		if got := fmt.Sprint(query(t, path, sql)); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
