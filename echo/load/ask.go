package load

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/event/stats"
)

// question is a question of a reader: a tool call, or SQL.
type question struct {
	name, path string
	body       func(now time.Time) string
}

const sqlPath = "/api/v1/sql"

// arguments are a tool's arguments.
type arguments map[string]string

// questions returns the tools with typical first arguments, for a window, or their default if that is empty; and a
// published statement.
func questions(window string) []question {
	tool := func(name string, args arguments) question {
		if window != "" {
			args[windowOf(name)] = window
		}
		b := body(map[string]arguments{"args": args})
		return question{name, "/api/v1/tools/fleet.cluster." + name, func(time.Time) string { return b }}
	}
	return []question{
		tool("summary", arguments{}), tool("find_stragglers", arguments{}), tool("find_outlier_nodes", arguments{}),
		tool("find_outlier_nodes", arguments{"metric": "hw.gpu.utilization", "of": "rank", "cluster_id": "cluster-00"}),
		tool("event_history", arguments{"node_id": "gpu-node-0001.load.example"}), tool("anomaly_list", arguments{}),
		tool("get_cost", arguments{}),
		{"SQL: the newest of a node", sqlPath, func(now time.Time) string {
			from := "(select max(timestamp_ns) from events) - 60000000000"
			if window != "" { // as dashboards do, which know the time
				from = strconv.FormatInt(now.Add(-time.Minute).UnixNano(), 10)
			}
			return body(arguments{"sql": `
				select timestamp_ns, metric_name, rank, value from events
				where node_id = 'gpu-node-0001.load.example' and timestamp_ns > ` + from + `
				order by timestamp_ns desc limit 100`})
		}},
	}
}

// windowOf returns a tool's name for the window argument.
func windowOf(tool string) string {
	if tool == "anomaly_list" {
		return "time_window"
	}
	return "window"
}

func body(of any) string {
	b, err := json.Marshal(of)
	if err != nil {
		panic(err) // texts can always be written
	}
	return string(b)
}

// answers has the times of answers, by question.
type answers struct {
	mu     sync.Mutex // guards the rest
	took   map[string][]time.Duration
	failed map[string]int
	first  map[string]string
}

func newAnswers() *answers {
	return &answers{took: map[string][]time.Duration{}, failed: map[string]int{}, first: map[string]string{}}
}

func (a *answers) addAnswer(name string, took time.Duration, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took[name] = append(a.took[name], took)
	if why != "" {
		if a.failed[name]++; a.first[name] == "" {
			a.first[name] = why
		}
	}
}

// list returns the answers by question; the first entry is for all questions.
func (a *answers) list() []Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []time.Duration
	list := []Answer{{Question: "all"}}
	for name, took := range a.took {
		all = append(all, took...)
		list = append(list, answer(name, took, a.failed[name], a.first[name]))
		list[0].Failed += a.failed[name]
	}
	if len(all) == 0 {
		return nil
	}
	list[0] = answer("all", all, list[0].Failed, "")
	slices.SortFunc(list[1:], func(x, y Answer) int { return strings.Compare(x.Question, y.Question) })
	return list
}

func answer(name string, took []time.Duration, failed int, first string) Answer {
	slices.Sort(took)
	return Answer{
		Question: name, N: len(took), Failed: failed, FirstError: first, P50MS: quantile(took, 0.5),
		P99MS: quantile(took, 0.99), MostMS: quantile(took, 1),
	}
}

// quantile returns a quantile of a sorted, non-empty list, in milliseconds.
func quantile(list []time.Duration, q float64) float64 {
	return float64(stats.Nearest(list, q)) / float64(time.Millisecond)
}

// ask asks until ctx ends, beginning with question number first.
func (r *run) ask(ctx context.Context, to *answers, first int) {
	all := questions(r.o.Window)
	due := time.Now()
	for i := first; ctx.Err() == nil; i++ {
		q := all[i%len(all)]
		if r.o.Every == 0 {
			due = time.Now()
		} else if due = due.Add(r.o.Every); !sleep(ctx, time.Until(due)) {
			return
		}
		why := r.one(ctx, q)
		if ctx.Err() == nil { // otherwise it was given up
			to.addAnswer(q.name, time.Since(due), why)
		}
	}
}

// one asks a question, and returns why there was no answer.
func (r *run) one(ctx context.Context, q question) (why string) {
	p, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(r.o.Ask, "/")+q.path,
		strings.NewReader(q.body(time.Now())))
	if err != nil {
		return err.Error()
	}
	p.Header.Set("Content-Type", "application/json")
	if r.o.Token != "" {
		p.Header.Set("Authorization", "Bearer "+r.o.Token)
	}
	a, err := http.DefaultClient.Do(p)
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(a.Body)
	_ = a.Body.Close() // it was read
	switch {
	case err != nil:
		return err.Error()
	case a.StatusCode != http.StatusOK:
		return a.Status + ": " + string(bytes.TrimSpace(body))
	}
	return ""
}
