package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags and names that people know from earlier versions: another name of a flag is accepted, and one whose meaning
// would be another is refused, with what to use. Help does not list them.
var (
	renamedFlags = []struct{ command, known, now string }{
		{"dashboard", "addr", "http"},
		{"export", "output", "out"},
	}
	refusedFlags = []struct{ command, known, advice string }{
		{"explain", "last", "choose a time: --since 5m"},
		{"export", "nodes", "to export several, merge them first: ingero merge --output all.db a.db b.db"},
		{"query", "since", "a query is SQL: " + querySample},
		{"query", "pid", "a query is SQL: " + querySample},
		{"query", "op", "a query is SQL: " + querySample},
	}
	knownDemos = map[string]string{
		"memcpy-bottleneck": "pageable_copy", "cpu-contention": "cpu_contention", "gpu-steal": "gpu_contention",
		"cold-start": "cold_start", "periodic-spike": "incident",
	}
)

const querySample = `ingero query "select * from cuda_events where pid = 4821 and op = 'cudaMemcpy' limit 100"`

// addKnownFlags adds them to the commands.
func addKnownFlags(root *cobra.Command) {
	of := func(name string) *pflag.FlagSet {
		i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
		return root.Commands()[i].Flags()
	}
	for _, k := range renamedFlags {
		flags := of(k.command)
		if flags.Lookup(k.known) != nil {
			continue
		}
		same := *flags.Lookup(k.now)
		same.Name, same.Shorthand, same.Hidden = k.known, "", true
		flags.AddFlag(&same)
	}
	for _, k := range refusedFlags {
		flags := of(k.command)
		flags.Var(refusal(k.advice), k.known, "")
		f := flags.Lookup(k.known)
		f.Hidden, f.NoOptDefVal = true, "true"
	}
}

// refusal is a flag that is not accepted.
type refusal string

func (r refusal) Set(string) error { return errors.New(string(r)) }
func (refusal) String() string     { return "" }
func (refusal) Type() string       { return "string" }

// knownArguments rewrites what a flag of trace can be given in two ways: --stack alone, and --stack=false. A flag
// whose value may be left out could not have one behind it otherwise.
func knownArguments(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		switch {
		case a == "--":
			return out
		case a == "--stack=false":
			out[i] = "--stack=off"
		case a == "--stack=true", a == "--stack" && (i+1 == len(out) || strings.HasPrefix(out[i+1], "-")):
			out[i] = "--stack=slow"
		}
	}
	return out
}

// fixed is a flag that has one value, and is refused with another.
type fixed struct {
	value  bool
	advice string
}

func (f fixed) Set(s string) error {
	v, err := strconv.ParseBool(s)
	if err == nil && v != f.value {
		err = errors.New(f.advice)
	}
	return err
}

func (f fixed) String() string { return strconv.FormatBool(f.value) }
func (fixed) Type() string     { return "bool" }

// addNoGPU adds what people know of the demo: it uses no GPU, whichever of the two flags says so.
func addNoGPU(flags *pflag.FlagSet) {
	for name, value := range map[string]bool{"gpu": false, "no-gpu": true} {
		flags.Var(fixed{value, "no demo uses a GPU; to trace one: sudo ingero trace -- PROGRAM"}, name, "")
		f := flags.Lookup(name)
		f.Hidden, f.NoOptDefVal = true, "true"
	}
}

// demoDuration is --duration of demo, which sets --seconds.
type demoDuration struct{ seconds *float64 }

func (d demoDuration) Set(s string) error {
	took, err := time.ParseDuration(s)
	if err != nil {
		return err
	}
	*d.seconds = took.Seconds()
	return nil
}

func (demoDuration) String() string { return "" }
func (demoDuration) Type() string   { return "duration" }
