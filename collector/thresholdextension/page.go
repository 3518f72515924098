package thresholdextension

import (
	"bytes"
	"html/template"
	"net/http"

	"go.uber.org/zap"

	"github.com/ingero-io/ingero/lib/crosssite"
)

// page is the status page: all cohorts and their ranks.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Ingero fleet</title>
<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;margin-bottom:2em}
td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ccc}</style>
<h1>Ingero fleet</h1>
<p>{{.Ranks}} ranks in {{.Cohorts}} cohorts, {{.Pushes}} pushes{{if not .List.Whole}}; not all are listed{{end}}</p>
{{range .List.Cohorts}}<h2>{{.Cluster}} {{.Cohort}}</h2>
<p>{{.Live}} of {{.Ranks}} ranks push{{if .Degraded}}; many turned suspect at once{{end}}{{if .Slow}}; most are slower
than they were{{end}}</p>
<table><tr><th>rank<th>node<th>own work<th>peers'<th>slower<th>state</tr>
{{range .Members}}<tr><td>{{.Rank}}<td>{{.Node}}{{range .Cells}}<td>{{.}}{{end}}</tr>
{{end}}</table>
{{end}}<p><a href="api/v1/openapi.json">What may be asked</a></p></html>
`))

// Rows of the page.
type (
	statusPage struct {
		Cohorts, Ranks int
		Pushes         uint64
		List           struct {
			Whole   bool
			Cohorts []cohortRow
		}
	}
	cohortRow struct {
		Cluster, Cohort string
		Ranks, Live     int
		Degraded, Slow  bool
		Members         []rankRow
	}
	rankRow struct {
		Rank  int32
		Node  string
		Cells [4]string
	}
)

// apiPath is the prefix of the GET endpoints.
const apiPath = "/api/"

// handler serves the fleet's GET endpoints and the status page.
// handler answers programs, and the pages of other sites only if the configuration allows some (cors).
func (t *Threshold) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(apiPath, t.fleet.Reads())
	mux.HandleFunc("GET /{$}", t.page)
	c := &t.config.ServerConfig
	if c.CORS.HasValue() {
		return mux
	}
	local := crosssite.Loopback(crosssite.Hostname(c.NetAddr.Endpoint)) && !c.Auth.HasValue()
	return crosssite.Handler(mux, local)
}

func (t *Threshold) page(w http.ResponseWriter, _ *http.Request) {
	n, list := t.fleet.Counts(), t.fleet.Cohorts("")
	s := statusPage{Cohorts: n.Cohorts, Ranks: n.Ranks, Pushes: n.Pushes}
	s.List.Whole = list.Whole
	for i := range list.Cohorts {
		c := &list.Cohorts[i]
		row := cohortRow{c.Cluster, c.Cohort, c.Ranks, c.Live, c.Degraded, c.Slow, nil}
		for k := range c.Members {
			m := &c.Members[k]
			own, peer, slower, state := m.Text()
			row.Members = append(row.Members, rankRow{m.Rank, m.Node, [...]string{own, peer, slower, state}})
		}
		s.List.Cohorts = append(s.List.Cohorts, row)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, s); err != nil {
		t.settings.Logger.Error("the status page cannot be written", zap.Error(err))
		http.Error(w, "the page cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes()) // on error the peer has gone
}
