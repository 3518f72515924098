package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what matters here of a Grafana dashboard.
type dashboard struct {
	SchemaVersion int
	UID           string
	Panels        []panel
	Templating    struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
}

type panel struct {
	ID      int
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ RefID, Expr, LegendFormat string }
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	b, err := os.ReadFile("../deploy/grafana/ingero.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// queries are those of the panels and of the variables.
func (d *dashboard) queries() (all []string) {
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all = append(all, q.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if q, ok := v.Query.(map[string]any); ok {
			all = append(all, q["query"].(string))
		}
	}
	return all
}

var (
	matchers = regexp.MustCompile(`\{[^}]*\}`)
	labelsBy = regexp.MustCompile(`\b(?:by|without) \(([^)]*)\)`)
	label    = regexp.MustCompile(`([a-z_]+) *(?:=~|!~|!=|=)`)
	variable = regexp.MustCompile(`^label_values\(([a-z_]+), ([a-z_]+)\)$`)
	words    = regexp.MustCompile(`[a-zA-Z_]+\b *\(?`)
)

// names are the metrics that a query asks for, and the labels that it knows.
func names(query string) (metrics, labels []string) {
	for _, m := range matchers.FindAllString(query, -1) {
		for _, l := range label.FindAllStringSubmatch(m, -1) {
			labels = append(labels, l[1])
		}
	}
	for _, by := range labelsBy.FindAllStringSubmatch(query, -1) {
		labels = append(labels, strings.Split(by[1], ", ")...)
	}
	rest := labelsBy.ReplaceAllString(matchers.ReplaceAllString(query, ""), "")
	if v := variable.FindStringSubmatch(rest); v != nil {
		return v[1:2], append(labels, v[2])
	}
	rest = strings.ReplaceAll(rest, "[$__rate_interval]", "")
	for _, w := range words.FindAllString(rest, -1) {
		if !strings.HasSuffix(w, "(") { // a function
			metrics = append(metrics, strings.TrimSpace(w))
		}
	}
	return metrics, labels
}

// published are the names that Prometheus knows the metrics by, from the page that is
// generated of the catalogue.
func published(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for i := range Catalogue {
		_, row, ok := strings.Cut(string(page), "| `"+Catalogue[i].Name+"` | `")
		name, _, _ := strings.Cut(row, "`")
		if !ok || name == "" {
			t.Fatalf("docs/metrics.md does not have %s", Catalogue[i].Name)
		}
		known[name] = false
	}
	return known
}

// The dashboard asks for metrics and labels that there are, and for every metric of the
// catalogue. That it is one that Grafana knows, make test-grafana checks.
func TestTheDashboardQueriesExistingMetrics(t *testing.T) {
	known, labels := published(t), []string{"instance"}
	for i := range Catalogue {
		for _, a := range Catalogue[i].Attrs {
			labels = append(labels, strings.ReplaceAll(a, ".", "_"))
		}
	}
	d := readDashboard(t)
	for _, q := range d.queries() {
		asked, by := names(q)
		if len(asked) == 0 {
			t.Errorf("%s asks for nothing", q)
		}
		for _, name := range asked {
			if _, ok := known[name]; !ok {
				t.Errorf("%s: there is no metric %q", q, name)
			}
			known[name] = true
		}
		for _, l := range by {
			if !slices.Contains(labels, l) {
				t.Errorf("%s: there is no label %q", q, l)
			}
		}
	}
	for name, asked := range known {
		if !asked {
			t.Errorf("%s is on no panel", name)
		}
	}
}

func TestTheDashboardIsWellFormed(t *testing.T) {
	d := readDashboard(t)
	if d.SchemaVersion < 36 || d.UID == "" || len(d.Panels) < 10 { // 36: data sources have types and ids
		t.Errorf("schema %d, uid %q, %d panels", d.SchemaVersion, d.UID, len(d.Panels))
	}
	ids := map[int]string{}
	var taken [100][24]string
	for _, p := range d.Panels {
		if other, ok := ids[p.ID]; ok || p.ID == 0 {
			t.Errorf("panels %q and %q have the id %d", p.Title, other, p.ID)
		}
		ids[p.ID] = p.Title
		for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				if taken[y][x] != "" {
					t.Fatalf("%q lies over %q", p.Title, taken[y][x])
				}
				taken[y][x] = p.Title
			}
		}
		for i, q := range p.Targets {
			if want := string(rune('A' + i)); q.RefID != want {
				t.Errorf("%s: query %q, want %s", p.Title, q.RefID, want)
			}
		}
	}
}
