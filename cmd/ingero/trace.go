package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/cluster/peers"
	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/lib/config"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

const traceHelp = `Trace records every CUDA call of the chosen processes, and where the time of the
calling threads went: on a CPU, waiting for one, blocked on what and by whom.
Processes that start later, or load CUDA later, are traced as well. Without --pid,
--user or COMMAND, every process that uses CUDA is traced.

--footprint counts what each traced process uses: system calls, files, sockets,
programs, CPU time. It is the default for a process given by --pid that has no CUDA
library. While it counts, each system call of other processes takes some tens of
nanoseconds longer. --pages counts page allocations per process (about 40 ns each).

--annotate records what programs say they work on, such as step and epoch: see
"ingero annotate --help".

With --fleet the own work of each rank of a distributed job on this node (a step
without its waits in collectives) is compared with that of the others: a slower rank is
reported within seconds, here and at the socket of --events. Start it before the job.

With --mcp an AI agent can query the recording while it is being made, over HTTPS as
with "ingero mcp --http"; a token is read from $INGERO_MCP_TOKEN or ~/.ingero/mcp-token.
With --dashboard other nodes can, as with "ingero dashboard"; their token is in
$INGERO_NODE_TOKEN or ~/.ingero/node-token.

It runs until Ctrl+C, --duration, or the end of COMMAND, whose exit code it passes on.
COMMAND is never killed, whatever happens to the tracer. Ctrl+C asks it to exit (SIGTERM)
and is recorded until it has; a second one leaves it running. --duration ends only the
tracing. While the recording cannot be written, as on a full disk, tracing goes on and
what is missing is counted. On a terminal it shows calls, ledgers, findings, memory and
nodes in tabs (? lists the keys), otherwise a line a second. It needs root, or the
capabilities that "ingero check" names.`

func traceCommand(c *console) *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace [flags] [-- COMMAND [ARG…]]",
		Short: "Record CUDA calls and what delayed them",
		Long:  traceHelp,
		Example: `  sudo ingero trace                                 everything that uses CUDA
  sudo ingero trace --pid 4821 --duration 60s       one process and its children
  sudo ingero trace --pid "$(pgrep -f mcp-server)"  what any process touches, GPU or not
  sudo ingero trace --footprint -- ./load_data.sh   the same of a program and its children
  sudo ingero trace --out run.db -- python train.py a program from its first instruction
  sudo ingero trace --annotate -- python train.py   with the steps and epochs that it sends
  sudo ingero trace --fleet fleet-1:4318            report the rank that the others wait for
  sudo ingero trace --mcp 127.0.0.1:8443            let an AI agent query it during the run
  sudo ingero trace --dashboard :8080               let other nodes query it during the run
  sudo ingero trace --json | jq 'select(.type == "call")'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return usage("unexpected argument %q; to start a program, write it after --: ingero trace -- %s", args[0],
					strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(mutuallyExclusive(cmd, "db", "out"), mutuallyExclusive(cmd, "pid", "user"),
				mutuallyExclusive(cmd, "json", "quiet")); err != nil {
				return err
			}
			return c.trace(cmd.Context(), &f, args)
		},
	}
	f.addFlags(cmd)
	stacks := []string{string(probe.StackSlow), string(probe.StackAll), string(probe.StackOff)}
	_ = cmd.RegisterFlagCompletionFunc("stack", cobra.FixedCompletions(stacks, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// tracing is one run of trace: the agent's options, and how the run is shown.
type tracing struct {
	c       *console
	opts    agent.Options
	conf    *config.Config // ingero.yaml
	node    string         // this machine's name
	file    *recordingFile // nil: nothing is recorded
	view    traceView
	metrics *metricsSink // nil: no metrics
	peers   *peers.Peers // nil: ranks are not compared
	log     io.Writer    // for messages that are neither results nor progress
}

// traceView shows a run, and its end.
type traceView interface {
	found(r *report.Report)   // report of the live diagnosis on the last seconds
	changed(c *report.Change) // steps take longer since some seconds
	// event shows that a rank is slower than its peers, or the like. who is its process, or empty.
	event(e *wire.Event, who string)
	run(ctx context.Context, o agent.Options) (agent.Summary, error)
	summary(s *agent.Summary, next string) error
}

// heapGrowth is the heap growth in percent before a garbage collection. It is a quarter of the
// default: some MB less memory beside the traced job, for 0.3 % of a core.
const heapGrowth = 25

// liveMemory is how much larger the live diagnosis may make the tracer, in bytes: some hundred thousand calls that fail
// within seconds are diagnosed by ingero explain, in a process of its own.
const liveMemory = 48 << 20

func (c *console) trace(ctx context.Context, f *traceFlags, command []string) error {
	debug.SetGCPercent(heapGrowth)
	t := &tracing{c: c}
	err := t.options(f, command)
	if err != nil {
		return err
	}
	if err := t.choose(f); err != nil {
		return err
	}
	if err := t.annotate(f); err != nil {
		return err
	}
	if t.opts.Labels != nil {
		defer func() { _ = t.opts.Labels.Close() }() // if the run never began
	}
	ctx, leave, stop := wishes(ctx, len(command) > 0)
	defer stop()
	t.opts.Leave = leave
	// A closed pipe, or a file that may not grow, must not kill the run: writes fail instead. (Not
	// signal.Ignore, which a traced command would inherit.)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if len(t.opts.PIDs) > 0 {
		t.opts.Sinks = append(t.opts.Sinks, &watchEnd{fs: proc.New(""), pids: t.opts.PIDs, end: cancel})
	}
	of := sender(t.node, f.peers.cluster)
	if t.metrics, err = f.metrics.open(ctx, of, askedAt(f.serve, t.node), t.opts.Logger); err != nil {
		return err
	}
	t.opts.Sinks = append(t.opts.Sinks, newOtherTracers(t.log))
	sum, err := t.watch(ctx, f)
	if sum.Elapsed > 0 {
		err = errors.Join(err, t.view.summary(&sum, t.next(&sum)))
	}
	if len(command) == 0 || !sum.Began {
		return err
	}
	return c.passOn(ctx, leave, &sum, err)
}

// watch runs the tracer. Its recording is diagnosed live, and served to AI agents if an address is
// given.
func (t *tracing) watch(ctx context.Context, f *traceFlags) (agent.Summary, error) {
	if t.metrics != nil {
		defer func() { _ = t.metrics.Close() }() // if the run never began
	}
	var err error
	if t.peers, err = t.openPeers(ctx, &f.peers); err != nil {
		return agent.Summary{}, err
	}
	if t.peers != nil {
		t.opts.RankEvents = t.peers.Recorded
		defer func() { _ = t.peers.Close() }() // if the run never began
		t.opts.Sinks = append(t.opts.Sinks, peersSink{t.peers})
	}
	if t.metrics != nil { // after peers, whose last events it sends
		t.opts.Sinks = append(t.opts.Sinks, t.metrics)
	}
	if t.file != nil {
		open := func() (store.Reader, error) { return sqlite.OpenReaderWithin(t.file.path, liveMemory) }
		live := agent.NewLive(open, t.found, t.opts.Logger)
		defer func() { _ = live.Close() }() // if the run never began
		t.opts.Sinks = append(t.opts.Sinks, live)
	}
	t.opts.Sinks = append(t.opts.Sinks, agent.NewLiveChanges(t.view.changed))
	if s := newSupervisor(t.c.env, t.opts.Logger); s != nil {
		t.opts.Sinks = append(t.opts.Sinks, s)
	}
	unserve, err := t.serveBoth(ctx, f)
	if err != nil {
		return agent.Summary{}, err
	}
	defer unserve()
	return t.view.run(ctx, t.opts)
}

// openPeers begins to compare ranks with their peers; nil if that was not asked for.
func (t *tracing) openPeers(ctx context.Context, f *peersFlags) (*peers.Peers, error) {
	if err := f.check(ctx, t.c.env, t.log); err != nil {
		return nil, err
	}
	fs := proc.New("")
	o := peersOptions{c: t.c, node: t.node, log: t.log, logger: t.opts.Logger, shown: t.view.event}
	o.name = func(pid uint32) string {
		name, err := fs.Comm(int(pid), int(pid))
		if err != nil {
			return "" // it has ended
		}
		return name
	}
	if t.metrics != nil && t.metrics.ranks != nil {
		o.otlp = t.metrics.ranks
	}
	return f.open(ctx, o)
}

// found passes on a report of the live diagnosis.
func (t *tracing) found(r *report.Report) {
	t.view.found(r)
	if t.metrics != nil {
		t.metrics.found(r)
	}
	if t.peers != nil {
		t.peers.Found(r)
	}
}

// options checks the flags and converts them to the agent's options.
func (t *tracing) options(f *traceFlags, command []string) error {
	o := &t.opts
	o.UID, o.Command, o.Duration, o.Stack = agent.AnyUser, command, f.duration, probe.StackPolicy(f.stack)
	o.Footprint, o.Pages, o.InnerCalls = agent.FootprintPolicy(f.print), f.pages, f.inner
	if !slices.Contains([]probe.StackPolicy{probe.StackSlow, probe.StackAll, probe.StackOff}, o.Stack) {
		return usage("--stack %q is unknown; use slow, all or off", f.stack)
	}
	if f.duration < 0 {
		return usage("--duration %s is negative", f.duration)
	}
	if len(command) > 0 && (len(f.pids) > 0 || f.user != "") {
		return usage("a command after -- is traced alone; leave out --pid and --user")
	}
	maxDB, err := parseSize(f.maxDB)
	if err != nil {
		return usage("--max-db: %w", err)
	}
	if o.Backend, err = probe.ParseBackend(t.c.env(probe.BackendEnv)); err != nil {
		return err
	}
	if err := t.whose(f); err != nil {
		return err
	}
	if t.conf, err = config.Find(f.fleet.file, t.c.env); err != nil {
		return err
	}
	if t.node = cmp.Or(f.node, t.conf.Node); t.node == "" {
		if t.node, err = os.Hostname(); err != nil {
			return fmt.Errorf("read the host name: %w; pass --node NAME", err)
		}
	}
	if !f.record {
		if f.mcp != "" || f.serve != "" {
			return usage("--mcp and --dashboard serve what is recorded; leave out --record=false")
		}
		return nil
	}
	return t.record(f, maxDB)
}

// record prepares the recording.
func (t *tracing) record(f *traceFlags, maxBytes int64) (err error) {
	if t.file, err = t.c.newRecording(f.db + f.out); err != nil {
		return err
	}
	t.opts.Record = &agent.Recording{
		Path: t.file.path, Node: t.node, Version: build().Version, Flags: strings.Join(os.Args[1:], " "),
		Open: func(s store.Session) (store.Writer, error) {
			w, err := sqlite.OpenWriter(t.file.path, sqlite.Options{
				Session: s, MaxBytes: maxBytes, Group: t.file.ofService(t.c.env),
			})
			if err != nil {
				return nil, err
			}
			if err := t.file.handOver(); err != nil {
				return nil, errors.Join(err, w.Close())
			}
			return w, nil
		},
	}
	return nil
}

// lines returns the view that prints lines.
func (t *tracing) lines(out io.Writer, wait string, f *traceFlags) traceView {
	v := newLineView(out, t.c.width(out), wait)
	v.quiet = f.quiet
	return v
}

// noProcess is shown while no process is traced.
const noProcess = "no process uses CUDA yet; those that start will be traced"

// next is the command to suggest after this one.
func (t *tracing) next(s *agent.Summary) string {
	if t.file == nil || s.Calls == 0 && s.Footprint == nil {
		return ""
	}
	cmd := "ingero explain"
	if def, err := (&console{env: withoutDatabase(t.c.env)}).database(""); err != nil || def != t.file.path {
		cmd += " --db " + quote(t.file.path)
	}
	if s.Elapsed > 5*time.Minute {
		cmd += " --since " + report.FormatDuration(s.Elapsed.Round(time.Minute)+time.Minute)
	}
	return cmd
}

// withoutDatabase removes $INGERO_DB, which the next shell may not have.
func withoutDatabase(env func(string) string) func(string) string {
	return func(k string) string {
		if k == databaseEnv {
			return ""
		}
		return env(k)
	}
}

// quote quotes an argument for a shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,+@%", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
