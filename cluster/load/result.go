package load

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Result is the result of a measurement. Bytes are bytes of memory.
type Result struct {
	URL         string  `json:"url"`
	Nodes       int     `json:"nodes"`
	Ranks       int     `json:"ranks_per_node"`
	Cohorts     int     `json:"cohorts"`
	Connections int     `json:"connections"`
	Seconds     float64 `json:"seconds"`
	// Asked is how many pushes per second were due, 0: as many as are answered.
	Asked float64 `json:"pushes_per_second_due"`
	// Pushes is how many pushes were answered, Quorum how many of these answers had a threshold from a quorum.
	Pushes uint64 `json:"pushes"`
	Quorum uint64 `json:"with_quorum"`
	Errors uint64 `json:"errors"`
	// FirstError is the error of the first push that failed.
	FirstError string `json:"first_error,omitempty"`
	// ServerCPU is the server's CPU time in seconds, LoadCPU that of making the load. 0: not known.
	ServerCPU float64 `json:"server_cpu_s"`
	LoadCPU   float64 `json:"load_cpu_s"`

	Polls uint64 `json:"polls"`
	// PollErrors is how many polls got no threshold from a quorum.
	PollErrors uint64 `json:"poll_errors"`
	// Time of a poll from when it was due, in milliseconds.
	PollP50MS  float64 `json:"poll_p50_ms"`
	PollP99MS  float64 `json:"poll_p99_ms"`
	PollMostMS float64 `json:"poll_most_ms"`

	// Before is the server's memory before the first push (Heap: with few nodes, but all connections), After that after
	// the last one.
	Before Memory `json:"before"`
	After  Memory `json:"after"`
}

// Memory is the memory of the server. 0: not known.
type Memory struct {
	RSS  int64 `json:"rss_bytes"`
	Heap int64 `json:"heap_bytes"` // in use after the last garbage collection, in whole MiB
}

// PerSecond returns how many pushes per second were answered.
func (r *Result) PerSecond() float64 { return per(float64(r.Pushes), r.Seconds) }

// PerPush returns the server's CPU time per push in microseconds, all its other work included.
func (r *Result) PerPush() float64 { return per(1e6*r.ServerCPU, float64(r.Pushes)) }

func per(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// MarshalJSON implements json.Marshaler. It adds the derived values.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	nodes := float64(r.Nodes)
	return json.Marshal(struct {
		plain
		PerSecond  float64 `json:"pushes_per_second"`
		PerPush    float64 `json:"server_cpu_us_per_push"`
		OnTwoCores float64 `json:"pushes_per_second_on_two_cores"`
		RSSPerNode float64 `json:"rss_bytes_per_node"`
		PerNode    float64 `json:"heap_bytes_per_node"`
	}{
		plain(r), r.PerSecond(), r.PerPush(), per(2e6, r.PerPush()), float64(r.After.RSS-r.Before.RSS) / nodes,
		float64(r.After.Heap-r.Before.Heap) / nodes,
	})
}

// WriteText writes the result for people.
func (r *Result) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d nodes of %d ranks in %d cohorts push to %s over %d connections, for %.0f s\n", r.Nodes, r.Ranks,
		r.Cohorts, r.URL, r.Connections, r.Seconds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	due := ""
	if r.Asked > 0 {
		due = fmt.Sprintf(" of %.0f due", r.Asked)
	}
	fmt.Fprintf(t, "pushes\t%.0f a second%s; %.1f %% with a quorum; %d errors%s\n", r.PerSecond(), due,
		100*per(float64(r.Quorum), float64(r.Pushes)), r.Errors, because(r.FirstError))
	if r.Polls > 0 {
		fmt.Fprintf(t, "GET\t%.0f a second; p50 %.2f ms, p99 %.2f ms, longest %.1f ms; %d without a quorum\n",
			per(float64(r.Polls), r.Seconds), r.PollP50MS, r.PollP99MS, r.PollMostMS, r.PollErrors)
	}
	if r.ServerCPU > 0 {
		fmt.Fprintf(t, "server\t%.1f s of CPU: %.1f us a push; so two cores take %.0f pushes a second\n", r.ServerCPU,
			r.PerPush(), per(2e6, r.PerPush()))
	}
	fmt.Fprintf(t, "load\t%.1f s of CPU\n", r.LoadCPU)
	if r.After.RSS > 0 {
		fmt.Fprintf(t, "memory\t%s, before the first push %s: %s a node\n", mega(r.After.RSS), mega(r.Before.RSS),
			kilo(float64(r.After.RSS-r.Before.RSS)/float64(r.Nodes)))
	}
	if r.After.Heap > 0 {
		fmt.Fprintf(t, "heap in use\t%s, with few nodes %s: %s a node\n", mega(r.After.Heap), mega(r.Before.Heap),
			kilo(float64(r.After.Heap-r.Before.Heap)/float64(r.Nodes)))
	}
	return t.Flush()
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ", the first: " + strings.ReplaceAll(why, "\n", " ")
}

func mega(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }

func kilo(bytes float64) string { return fmt.Sprintf("%.2f kB", bytes/1e3) }
