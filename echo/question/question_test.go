package question

import (
	"context"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/echo/store"
)

// asked keeps the last statement.
type asked struct {
	store.Reader
	sql string
}

func (a *asked) Query(_ context.Context, sql string, _ store.Limits) (*store.Result, error) {
	a.sql = sql
	return &store.Result{}, nil
}

// other is a store that writes texts in another way.
type other struct{ asked }

func (*other) Quote(text string) string { return "E'" + strings.ReplaceAll(text, "'", `\'`) + "'" }

// A text stays a text, whatever its content.
func TestQuote(t *testing.T) {
	const name = `o'brien' or ''='`
	plain, special := &asked{}, &other{}
	for _, c := range []struct {
		reader store.Reader
		sql    *string
		want   string
	}{
		{plain, &plain.sql, `'o''brien'' or ''''='''`},
		{special, &special.sql, `E'o\'brien\' or \'\'=\''`},
	} {
		if _, _, err := New(c.reader).Nodes(t.Context(), Scope{To: 9, Cluster: name, Node: name}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(*c.sql, "cluster_id = "+c.want+" and node_id = "+c.want) {
			t.Error(*c.sql)
		}
	}
	rank := int32(5)
	if _, _, err := New(plain).Episodes(t.Context(), Scope{From: 1, To: 9, Rank: &rank}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plain.sql, "timestamp_ns >= 1 and timestamp_ns < 9 and rank = 5") {
		t.Error(plain.sql)
	}
}

// The events of ranks that agents send are in both stores' views, and are left out where other events are listed.
func TestEventsOfRanks(t *testing.T) {
	lists := map[string]string{"covered": covered}
	for _, s := range []string{"duckdb", "clickhouse"} {
		views, err := os.ReadFile("../store/" + s + "/sql/views.sql")
		if err != nil {
			t.Fatal(err)
		}
		lists[s] = regexp.MustCompile(`(?s)create or replace view stragglers.*?event_name in \((.*?)\)`).FindString(string(views))
	}
	names := map[string]bool{}
	for kind := health.KindStraggler; kind <= health.KindCohortDegraded; kind++ {
		for _, resolved := range []bool{false, true} {
			names[wire.NewEvent(health.Verdict{Kind: kind, Resolved: resolved}, wire.About{}, nil).Type] = true
		}
	}
	for name := range names {
		for which, list := range lists {
			if !strings.Contains(list, "'"+name+"'") {
				t.Errorf("%s lacks %s", which, name)
			}
		}
	}
	if len(names) != 8 {
		t.Errorf("%v", names)
	}
}

var condition = regexp.MustCompile(`^\(seq % 65521\) \* 40503 % 65521 < (\d+)$`)

// The share of the collectives that are read is as returned, also among periodic ones.
func TestShare(t *testing.T) {
	for ranks, spans := range map[int64]int64{8: maxSpans, 4096: fewest * 4096, 20_000: mostSpans} {
		if sql, share := share(spans, ranks); sql != "1 = 1" || share != 1 {
			t.Errorf("%s, %v", sql, share)
		}
	}
	for _, c := range []struct{ spans, ranks, most int64 }{
		{maxSpans + 1, 8, maxSpans},
		{112_000, 512, maxSpans},
		{1_000_000, 512, maxSpans},
		{50_000_000, 4096, fewest * 4096}, // so many collectives of all ranks that somebody can be blamed
		{50_000_000, 1_000_000, mostSpans},
	} {
		spans := c.spans
		sql, share := share(spans, c.ranks)
		m := condition.FindStringSubmatch(sql)
		read := share * float64(spans)
		if m == nil || share > 1 || read > float64(c.most)*1.001 || read < float64(c.most)*0.9 {
			t.Fatalf("%d: %s, %v", spans, sql, share)
		}
		below, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, period := range []int{1, 2, 7, 14, 100} {
			all, chosen := 0, 0
			for seq := period - 1; seq < residues*period; seq += period {
				all++
				if seq%residues*40503%residues < below {
					chosen++
				}
			}
			if got := float64(chosen) / float64(all); math.Abs(got-share) > share/100 {
				t.Errorf("%d spans, every %dth: %v are read; want %v", spans, period, got, share)
			}
		}
	}
}

// Clusters of which all is read are read together, as long as they are small.
func TestClustersAreReadTogether(t *testing.T) {
	of := func(spans int64, share float64) ofCluster { return ofCluster{spans: spans, share: share} }
	for want, list := range map[int][]ofCluster{
		3: {of(10, 1), of(maxSpans-20, 1), of(10, 1), of(1, 1)},
		2: {of(10, 1), of(20, 1), of(1_000_000, 0.05), of(1, 1)},
		1: {of(1_000_000, 0.05), of(1, 1)},
	} {
		if got := together(list); got != want {
			t.Errorf("%v: %d; want %d", list, got, want)
		}
	}
}

func TestJoined(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	rank := func(r int32) *int32 { return &r }
	events := []event{
		{Episode{Node: "a", Rank: rank(1), Type: "straggler_state", ID: "x", First: 10, LostMS: number(5)}, "1970-01-01T00:00:00.000000004Z"},
		{Episode{Node: "b", Rank: rank(1), Type: "straggler_state", ID: "x", First: 11}, ""},                                       // another node
		{Episode{Node: "a", Rank: rank(1), Type: "straggler_state", ID: "x", First: 12, LostMS: number(7), Cause: "lock"}, ""},     // goes on
		{Episode{Node: "a", Rank: rank(1), Type: "straggler_resolved", ID: "x", First: 20, Resolved: true, LostMS: number(0)}, ""}, // ends
		{Episode{Node: "a", Rank: rank(1), Type: "straggler_state", ID: "x", First: 30}, "yesterday"},                              // anew
		{Episode{Node: "c", Type: "hang", First: 31}, ""},                                                                          // without a rank
		{Episode{Node: "c", Type: "gone", First: 32}, ""},                                                                          // another one, without ids
	}
	got := joined(events)
	if len(got) != 5 {
		t.Fatalf("%+v", got)
	}
	first := got[4]
	if first.Since != 4 || first.First != 10 || first.Last != 20 || !first.Resolved || *first.LostMS != 7 || first.Cause != "lock" {
		t.Errorf("%+v", first)
	}
	if got[0].Type != "gone" || got[2].Since != 30 || got[2].Resolved || got[3].Node != "b" {
		t.Errorf("%+v", got)
	}
}

// A rank's straggler ends when the next one begins, unless both are reported by turns.
func TestAStragglerIsReplacedByTheNext(t *testing.T) {
	rank := int32(3)
	state := func(id string, at int64) event {
		return event{Episode{Node: "a", Rank: &rank, Type: "straggler_state", ID: id, First: at}, ""}
	}
	for name, c := range map[string]struct {
		events []event
		want   []int64 // the ends of all, the newest first; 0: has none
	}{
		"next":     {[]event{state("x", 10), state("x", 12), state("y", 20), state("y", 25)}, []int64{0, 20}},
		"by turns": {[]event{state("x", 10), state("y", 12), state("x", 15)}, []int64{0, 0}},
		"three":    {[]event{state("x", 10), state("y", 20), state("z", 30)}, []int64{0, 30, 20}},
	} {
		var got []int64
		for _, e := range joined(c.events) {
			if e.Resolved != (e.Until != 0) {
				t.Errorf("%s: %+v", name, e)
			}
			got = append(got, e.Until)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: they end at %v; want %v", name, got, c.want)
		}
	}
}
