package load

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// Result is the result of a measurement.
type Result struct {
	To      string `json:"to"`
	Nodes   int    `json:"nodes"`
	Readers int    `json:"readers"`
	// EveryS is the time between two questions of a reader in seconds, 0: one after the other.
	EveryS  float64 `json:"every_s"`
	Window  string  `json:"window,omitempty"` // of the tools' questions; empty: their default
	Seconds float64 `json:"seconds"`
	// Due is how many points per second were due, 0: as many as are accepted. OverS is the seconds that their timestamps
	// are spread over, 0: each has the time when it was sent.
	Due   float64 `json:"points_per_second_due"`
	OverS float64 `json:"spread_over_s"`
	// Points counts those answered as stored, Requests their requests. Refused requests found no room, others failed;
	// both were repeated.
	Points     int64  `json:"points"`
	Requests   int64  `json:"requests"`
	Refused    int64  `json:"requests_refused"`
	Failed     int64  `json:"requests_failed"`
	FirstError string `json:"first_error,omitempty"`
	// ServerCPU is the server's CPU time in seconds while points were sent, LoadCPU that of making the load. 0: not
	// known.
	ServerCPU float64 `json:"server_cpu_s"`
	LoadCPU   float64 `json:"load_cpu_s"`
	// Memory is the server's memory at the end, Peak its maximum, in bytes. MemoryPerMinute is its growth while points
	// were sent, in bytes per minute.
	Memory          int64   `json:"rss_bytes"`
	Peak            int64   `json:"peak_rss_bytes"`
	MemoryPerMinute float64 `json:"rss_bytes_per_minute"`
	// Answers are the answers while points were sent, Then those afterwards.
	Answers []Answer `json:"answers"`
	Then    []Answer `json:"answers_then"`
}

// Answer has the times of answers to a question, in milliseconds.
type Answer struct {
	Question   string  `json:"question"`
	N          int     `json:"n"`
	Failed     int     `json:"failed"`
	FirstError string  `json:"first_error,omitempty"`
	P50MS      float64 `json:"p50_ms"`
	P99MS      float64 `json:"p99_ms"`
	MostMS     float64 `json:"most_ms"`
}

// PerSecond returns how many points per second were stored.
func (r *Result) PerSecond() float64 { return per(float64(r.Points), r.Seconds) }

// PerPoint returns the server's CPU time per point in microseconds, all its other work included.
func (r *Result) PerPoint() float64 { return per(1e6*r.ServerCPU, float64(r.Points)) }

func per(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// MarshalJSON implements json.Marshaler. It adds the derived values.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	return json.Marshal(struct {
		plain
		PerSecond  float64 `json:"points_per_second"`
		PerPoint   float64 `json:"server_cpu_us_per_point"`
		OnTwoCores float64 `json:"points_per_second_on_two_cores"`
	}{plain(r), r.PerSecond(), r.PerPoint(), per(2e6, r.PerPoint())})
}

// WriteText writes the result for people.
func (r *Result) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d nodes send %d points in a request to %s for %.0f s; %s\n", r.Nodes, perRequest, r.To, r.Seconds,
		r.readers())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	due := ""
	if r.Due > 0 {
		due = fmt.Sprintf(" of %.0f due", r.Due)
	}
	if r.OverS > 0 {
		due += fmt.Sprintf(", spread over %s", time.Duration(r.OverS*float64(time.Second)))
	}
	fmt.Fprintf(t, "points\t%d: %.0f a second%s; %d requests found no room, %d failed%s\n", r.Points, r.PerSecond(), due,
		r.Refused, r.Failed, because(r.FirstError))
	if r.ServerCPU > 0 {
		fmt.Fprintf(t, "server\t%.1f s of CPU: %.2f us a point; so two cores take %.0f points a second\n", r.ServerCPU,
			r.PerPoint(), per(2e6, r.PerPoint()))
	}
	fmt.Fprintf(t, "load\t%.1f s of CPU\n", r.LoadCPU)
	if r.Memory > 0 {
		fmt.Fprintf(t, "memory\t%.0f MB, %.0f MB at most; %+.2f MB a minute\n", float64(r.Memory)/1e6, float64(r.Peak)/1e6,
			r.MemoryPerMinute/1e6)
	}
	for i, list := range [][]Answer{r.Answers, r.Then} {
		for _, a := range list {
			when := []string{"meanwhile", "afterwards"}[i]
			failed := ""
			if a.Failed > 0 {
				failed = fmt.Sprintf("; %d failed%s", a.Failed, because(a.FirstError))
			}
			fmt.Fprintf(t, "asked %s\t%s: %d answers; p50 %.0f ms, p99 %.0f ms, longest %.0f ms%s\n", when, a.Question, a.N,
				a.P50MS, a.P99MS, a.MostMS, failed)
		}
	}
	return t.Flush()
}

func (r *Result) readers() string {
	switch {
	case r.Readers == 0:
		return "nobody asks"
	case r.EveryS == 0:
		return fmt.Sprintf("%d readers, who ask one question after the other", r.Readers)
	}
	about := ""
	if r.Window != "" {
		about = " about the last " + r.Window
	}
	return fmt.Sprintf("%d readers, who ask a question%s every %v s", r.Readers, about, r.EveryS)
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ", the first: " + strings.ReplaceAll(why, "\n", " ")
}

// usage returns the CPU time that this process has used.
func usage() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
