package report

import (
	"fmt"
	"strings"
	"time"
)

// GPUError is an error of a GPU that its driver reported, and the calls that failed after it.
type GPUError struct {
	AtNS        uint64        `json:"at_ns"`          // Unix ns, first occurrence
	GPU         *int          `json:"gpu"`            // NVML's index, null if not known
	Node        string        `json:"node,omitempty"` // in a report on several machines
	Xid         uint32        `json:"xid"`
	Description string        `json:"description"`
	Times       int           `json:"times"`
	Failed      []FailedAfter `json:"failed_calls"` // calls that failed from then on
}

// FailedAfter is an operation of a process whose calls failed after an error.
type FailedAfter struct {
	Process string `json:"process"`
	PID     uint32 `json:"pid"`
	Op      string `json:"op"`
	Ret     int32  `json:"ret_code"` // of the first
	Calls   int    `json:"calls"`
	AfterNS uint64 `json:"after_ns"` // how long after the error the first ended
}

func (t *text) gpuErrors(list []GPUError) {
	const few = 3
	if len(list) > 0 {
		t.line("")
	}
	for _, e := range list {
		s := fmt.Sprintf("%s at %s", e.Description, time.Unix(0, int64(e.AtNS)).UTC().Format("15:04:05"))
		if e.Times > 1 {
			s += fmt.Sprintf(", and %d times more", e.Times-1)
		}
		var failed []string
		for _, f := range e.Failed[:min(few, len(e.Failed))] {
			when := "then"
			if f.AfterNS > 0 {
				when = Duration(f.AfterNS) + " later"
			}
			failed = append(failed, fmt.Sprintf("%s %s of %s (%d) failed with %d (%s)", when, f.Op, f.Process, f.PID, f.Ret,
				Plural(uint64(f.Calls), "call")))
		}
		if n := len(e.Failed) - few; n > 0 {
			failed = append(failed, fmt.Sprintf("and %d more operations failed", n))
		}
		if len(failed) > 0 {
			s += ": " + strings.Join(failed, "; ")
		}
		t.wrap(t.paint(red, "[GPU ERROR]")+" "+at(e.Node), s)
	}
}
