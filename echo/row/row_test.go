package row_test

import (
	"math"
	"testing"

	"github.com/ingero-io/ingero/echo/row"
)

func TestARowThatDiffersHasAnotherKey(t *testing.T) {
	series := row.Series{Kind: row.Gauge, Metric: "m", Attrs: `{"a":1}`, Resource: `{"n":"x"}`}
	base := row.Row{Series: &series, Timestamp: 1_700_000_000_000_000_001}
	if base2 := base; row.Key(&base, 7) != row.Key(&base2, 7) {
		t.Fatal("the same row has two keys")
	}
	for name, change := range map[string]func(*row.Row){
		"kind":      func(r *row.Row) { r.Kind = row.Sum },
		"time":      func(r *row.Row) { r.Timestamp++ },
		"metric":    func(r *row.Row) { r.Metric = "n" },
		"attribute": func(r *row.Row) { r.Attrs = `{"a":2}` },
		"resource":  func(r *row.Row) { r.Resource = `{"n":"y"}` },
	} {
		other, its := base, series
		other.Series = &its
		change(&other)
		if row.Key(&base, 7) == row.Key(&other, 7) {
			t.Errorf("another %s has the same key", name)
		}
	}
	if row.Key(&base, 7) == row.Key(&base, 8) {
		t.Error("another identity has the same key")
	}
	received := base
	received.Received, received.Double, received.HasDouble = 5, 1.5, true
	if row.Key(&base, 7) != row.Key(&received, 7) {
		t.Error("when it came, and its value, are part of the key")
	}
}

func TestIdentityTellsTextsApart(t *testing.T) {
	seen := map[uint64]string{}
	for name, id := range map[string]uint64{
		"a b": row.Identity("a", "b"), "ab": row.Identity("ab"), "a, empty, b": row.Identity("a", "", "b"), "none": row.Identity(),
		"b a": row.Identity("b", "a"), "empty": row.Identity(""),
	} {
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %q are the same", name, other)
		}
		seen[id] = name
	}
}

// Keys are stored: another version must compute the same ones, or rows that are sent again to it count twice.
func TestKeysStayAsTheyAre(t *testing.T) {
	r := row.Row{
		Series:    &row.Series{Kind: row.Log, Attrs: `{"rank":5}`, Resource: `{"ingero.node.id":"a"}`},
		Timestamp: 1_700_000_000_123_456_789,
	}
	const want = 0xddc028d7cdce3474
	if got := row.Key(&r, row.Identity("scope", "event")); got != want {
		t.Errorf("key %#x; want %#x", got, uint64(want))
	}
}

// A series computes the same key as its row, as points of earlier versions have it.
func TestAKeyOfASeriesIsThatOfItsRow(t *testing.T) {
	s := row.NewSeries(row.Series{
		Kind: row.Sum, Metric: "m", Unit: "By", Attrs: `{"rank":5}`, Resource: `{"ingero.node.id":"a"}`, Scope: "scope",
	})
	for _, at := range []int64{1, 1_700_000_000_123_456_789} {
		if got, want := s.Key(at), row.Key(&row.Row{Series: s, Timestamp: at}, row.Identity("scope")); got != want {
			t.Errorf("at %d: %#x; want %#x", at, got, want)
		}
	}
}

// IDs are stored: another version must compute the same ones, or series are stored twice.
func TestIDsStayAsTheyAre(t *testing.T) {
	s := row.NewSeries(row.Series{
		Kind: row.Sum, Cluster: "c", Node: "n", Rank: row.None, NRanks: 8, Metric: "m", Unit: "By", Temporality: "delta",
		Attrs: `{"rank":5}`, Resource: `{"ingero.node.id":"a"}`, Scope: "scope",
	})
	if got, want := s.ID(), (row.ID{0xaaf2f3d4e982f537, 0x63a8eae679647574}); got != want {
		t.Errorf("ID %#x; want %#x", got, want)
	}
}

func TestASeriesThatDiffersHasAnotherID(t *testing.T) {
	base := row.Series{
		Kind: row.Gauge, Cluster: "c", Node: "n", Rank: 1, NRanks: 8, Metric: "m", Unit: "u", Temporality: "delta", Attrs: "a",
		Resource: "r", Scope: "s",
	}
	id := row.NewSeries(base).ID()
	if id != row.NewSeries(base).ID() || id[0] == id[1] {
		t.Fatalf("%x", id)
	}
	for name, change := range map[string]func(*row.Series){
		"kind":        func(s *row.Series) { s.Kind = row.Sum },
		"cluster":     func(s *row.Series) { s.Cluster = "d" },
		"node":        func(s *row.Series) { s.Node = "d" },
		"rank":        func(s *row.Series) { s.Rank = row.None },
		"ranks":       func(s *row.Series) { s.NRanks = 9 },
		"metric":      func(s *row.Series) { s.Metric = "d" },
		"unit":        func(s *row.Series) { s.Unit = "d" },
		"temporality": func(s *row.Series) { s.Temporality = "" },
		"attributes":  func(s *row.Series) { s.Attrs = "d" },
		"resource":    func(s *row.Series) { s.Resource = "d" },
		"scope":       func(s *row.Series) { s.Scope = "d" },
		"where one text ends and the next begins": func(s *row.Series) { s.Cluster, s.Node = "", "cn" },
	} {
		other := base
		change(&other)
		got := row.NewSeries(other).ID()
		if got[0] == id[0] || got[1] == id[1] {
			t.Errorf("another %s: %x of %x", name, got, id)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a series that was not made by NewSeries has an ID")
		}
	}()
	base.ID()
}

func TestSecondOf(t *testing.T) {
	for _, c := range []struct{ at, want int64 }{
		{0, 0},
		{999_999_999, 0},
		{1_000_000_000, 1},
		{-1, -1},
		{-1_000_000_000, -1},
		{-1_000_000_001, -2},
		{math.MaxInt64, 9_223_372_036},
	} {
		if got := row.SecondOf(c.at); got != c.want {
			t.Errorf("%d ns: second %d; want %d", c.at, got, c.want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name string
		d    row.Distribution
		q    float64
		want float64
	}{
		{"no buckets", row.Distribution{Min: nan, Max: nan}, 0.5, nan},
		{"evenly from 0", row.Distribution{Min: nan, Max: nan, Buckets: []row.Bucket{{0, 10, 10}}}, 0.5, 5},
		{"by logarithm above 0", row.Distribution{Min: nan, Max: nan, Buckets: []row.Bucket{{1, 4, 10}}}, 0.5, 2},
		{"by logarithm below 0", row.Distribution{Min: nan, Max: nan, Buckets: []row.Bucket{{-4, -1, 10}}}, 0.5, -2},
		{"the second bucket", row.Distribution{Min: nan, Max: nan, Buckets: []row.Bucket{{0, 1, 90}, {0, 10, 10}}}, 0.95, 5},
		{"no upper end", row.Distribution{Min: nan, Max: nan, Buckets: []row.Bucket{{3, inf, 1}}}, 0.99, 3},
		{"no lower end", row.Distribution{Min: nan, Max: nan, Buckets: []row.Bucket{{-inf, 3, 1}}}, 0.01, 3},
		{"neither", row.Distribution{Min: nan, Max: nan, Buckets: []row.Bucket{{-inf, inf, 1}}}, 0.5, nan},
		{"the maximum ends it", row.Distribution{Min: nan, Max: 7, Buckets: []row.Bucket{{3, inf, 1}}}, 1, 7},
		{"one value", row.Distribution{Min: 5, Max: 5, Buckets: []row.Bucket{{4, 8, 1}}}, 0.5, 5},
	} {
		if got := c.d.Quantile(c.q); !(math.Abs(got-c.want) < 1e-9 || math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v; want %v", c.name, got, c.want)
		}
	}
}
