// Package doctor examines whether this machine can be traced: by trying, not by
// reading configurations. It changes nothing and prints nothing.
package doctor

import (
	"fmt"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/capture/probe/all"
	"github.com/ingero-io/ingero/capture/probe/coverage"
	"github.com/ingero-io/ingero/capture/symbol/unwind"
)

// Status is the result of a check.
type Status string

// The results. Only a problem keeps tracing from working.
const (
	OK      Status = "ok"
	Info    Status = "info"
	Warning Status = "warning"
	Problem Status = "problem"
)

// Check is one thing that was examined.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// Library is a library file whose functions can be timed.
type Library struct {
	Probe    string   `json:"probe"`
	Path     string   `json:"path"`
	Attached int      `json:"functions"` // found, and attached to if tracing works
	Missing  []string `json:"missing"`   // not in this version of the library
	Slow     []string `json:"slow"`      // whose first instructions must be single-stepped
	Trouble  string   `json:"trouble,omitempty"`
}

// Process is a process that has a library mapped.
type Process struct {
	PID       int      `json:"pid"`
	Comm      string   `json:"comm"`
	Libraries []string `json:"libraries"`
	NotSeen   []string `json:"not_seen"`                  // what of it cannot be traced, and why
	Python    string   `json:"python,omitempty"`          // version of its interpreter
	NoPython  string   `json:"python_not_seen,omitempty"` // why its stacks get no Python frames
}

// Report is the whole examination. Fields are only ever added.
type Report struct {
	Schema    int       `json:"schema"`
	OK        bool      `json:"ok"`
	Backend   string    `json:"backend"`
	Checks    []Check   `json:"checks"`
	Libraries []Library `json:"libraries"`
	Processes []Process `json:"processes"`
	Limits    Limits    `json:"limits"`
	Tested    Tested    `json:"tested"`
	Next      Step      `json:"next"`
}

// Options say where to look. The zero value is this machine.
type Options struct {
	Proc    string   // empty: /proc
	Sys     string   // empty: /sys
	Root    string   // empty: /
	NVML    []string // the only folders in which NVIDIA's management library is looked for; nil: the machine's
	Backend probe.Backend
	Scope   privilege.Scope // whose processes the user may trace
	Sudo    bool            // this program was started by sudo: commands to run next begin with it
}

func (o *Options) defaults() {
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	if o.Sys == "" {
		o.Sys = "/sys"
	}
	if o.Root == "" {
		o.Root = "/"
	}
}

// Examine runs every check.
func Examine(o Options) *Report {
	o.defaults()
	e := &exam{opts: o, fs: proc.New(o.Proc), libs: all.Libraries(), r: &Report{Schema: 1, OK: true, Limits: limits()}}
	e.hardening = ReadHardening(o.Proc, o.Sys)
	e.reasons = Reasons(e.hardening, Try())
	for _, check := range checks {
		e.r.Checks = append(e.r.Checks, check(e))
	}
	e.r.Checks = append(e.r.Checks, e.others()...)
	for _, c := range e.r.Checks {
		e.r.OK = e.r.OK && c.Status != Problem
	}
	e.r.Next = e.next()
	return e.r
}

// checks run in this order. A new check is a function and a line here.
var checks = []func(*exam) Check{
	(*exam).kernel,
	(*exam).tested,
	(*exam).btf,
	(*exam).privileges,
	(*exam).lockdown,
	(*exam).filters,
	(*exam).ptrace,
	(*exam).tracefs,
	(*exam).memlock,
	(*exam).namespace,
	(*exam).backend,
	(*exam).watcher,
	(*exam).memory,
	(*exam).libraries,
	(*exam).processes,
	(*exam).python,
	(*exam).limits,
	(*exam).settings,
	(*exam).gpu,
	(*exam).nvml,
}

// exam is an examination in progress.
type exam struct {
	opts Options
	fs   proc.FS
	libs []*probe.Library
	r    *Report

	hardening Hardening
	reasons   []coverage.Reason // for what the trials show not to work
	hidden    int               // processes that may not be looked at
}

// Limits are the tracer's own limits (capture/bpf/include/event.h, probe.Options).
type Limits struct {
	RingBytes  int   `json:"event_ring_bytes"`
	Nested     int   `json:"nested_calls"`
	Frames     int   `json:"stack_frames"`
	Culprits   int   `json:"culprits_per_interval"`
	OffCPUNS   int64 `json:"off_cpu_interval_ns"` // shorter ones only count in the ledger
	StackOneIn int   `json:"stack_sample_one_in"` // besides slow calls
}

func limits() Limits {
	return Limits{
		RingBytes: 16 << 20, Nested: 8, Frames: unwind.MaxFrames, Culprits: 4,
		OffCPUNS: int64(100 * time.Microsecond), StackOneIn: 4096,
	}
}

func (e *exam) limits() Check {
	l := e.r.Limits
	return Check{Name: "limits", Status: Info, Detail: fmt.Sprintf(
		"event ring %d MiB, %d nested calls, %d stack frames, off-CPU intervals from %s, a stack of slow calls and 1 in "+
			"%d others",
		l.RingBytes>>20, l.Nested, l.Frames, time.Duration(l.OffCPUNS), l.StackOneIn)}
}
