package probe

import (
	"fmt"
	"os"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/ingero-io/ingero/bpf"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/probe/blockio"
	"github.com/ingero-io/ingero/probe/tcp"
)

// watchHost attaches the programs on block devices and TCP connections. Without them
// tracing works; waits for disk and network then have nothing behind them.
func (t *Tracer) watchHost() {
	if err := t.hookBlockIO(); err != nil {
		t.log.Info("requests to block devices are not watched", "err", err)
	}
	if err := t.hookTCP(); err != nil {
		t.log.Info("TCP connections are not watched", "err", err)
	}
}

func (t *Tracer) hookBlockIO() error {
	spec, err := blockio.LoadBlockio()
	if err != nil {
		return fmt.Errorf("read block I/O object: %w", err)
	}
	if err := set(spec, map[string]any{"self_tgid": uint32(os.Getpid())}); err != nil {
		return err
	}
	var wanted []string
	for n, p := range blockio.Programs {
		// Before 5.11 the request came second.
		if err := checkTracepoint(t.types, p.Tracepoint); err != nil {
			if n < 2 {
				return err
			}
			delete(spec.Programs, p.Program)
			t.log.Info("requests to block devices are known less well", "err", err)
			continue
		}
		wanted = append(wanted, p.Program)
	}
	t.blockio, err = t.loadHooks(spec, wanted)
	return err
}

func (t *Tracer) hookTCP() error {
	spec, err := tcp.LoadTcp()
	if err != nil {
		return fmt.Errorf("read TCP object: %w", err)
	}
	var wanted []string
	for _, p := range tcp.Programs {
		if err := checkTracepoint(t.types, p.Tracepoint); err != nil {
			return err
		}
		wanted = append(wanted, p.Program)
	}
	t.tcp, err = t.loadHooks(spec, wanted)
	return err
}

// checkTracepoint checks that a tracepoint exists and that its first argument is a pointer to the
// type that its programs expect. The tracepoint's name does not tell the type.
func checkTracepoint(types *btf.Cache, tracepoint string) error {
	kernel, err := types.Kernel()
	if err != nil {
		return fmt.Errorf("read the kernel's types: %w", err)
	}
	var d *btf.Typedef
	if err := kernel.TypeByName("btf_trace_"+tracepoint, &d); err != nil {
		return fmt.Errorf("the kernel has no tracepoint %s: %w", tracepoint, err)
	}
	want := map[string]string{
		"block_rq_issue": "request", "block_rq_insert": "request", "block_rq_complete": "request", "writeback_mark_inode_dirty": "inode",
		"tcp_retransmit_skb": "sock", "inet_sock_set_state": "sock",
	}[tracepoint]
	if p, ok := btf.UnderlyingType(d).(*btf.Pointer); ok {
		if f, ok := p.Target.(*btf.FuncProto); ok && len(f.Params) > 1 {
			if a, ok := btf.UnderlyingType(f.Params[1].Type).(*btf.Pointer); ok {
				if s, ok := btf.UnderlyingType(a.Target).(*btf.Struct); ok && s.Name == want {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("the kernel's tracepoint %s has other arguments", tracepoint)
}

// loadHooks loads programs on tracepoints, which share maps with the others, and
// attaches those that are wanted. What was loaded is returned also with an error.
func (t *Tracer) loadHooks(spec *ebpf.CollectionSpec, wanted []string) (*ebpf.Collection, error) {
	c, err := t.share(spec)
	if err != nil {
		return nil, fmt.Errorf("load programs: %w", err)
	}
	links, err := attach(c, wanted...)
	t.hooks = append(t.hooks, links...)
	return c, err
}

// Requests appends what processes did at block devices in the seconds that are over,
// by second, and forgets it. With all, the second that has just begun is taken too:
// for the end, once nothing is attached any more.
func (t *Tracer) Requests(list []event.RequestSum, all bool) ([]event.RequestSum, error) {
	if t.blockio == nil {
		return list, nil
	}
	now, err := monotonic()
	if err != nil {
		return list, err
	}
	const second = 1_000_000_000
	m := t.blockio.Maps["request_sums"]
	var key bpf.WireRequestKey
	var sum bpf.WireRequestSum
	var over []bpf.WireRequestKey
	for i := m.Iterate(); i.Next(&key, &sum); {
		// A program that has read the clock may be about to add to the second before.
		if all || key.Second+1 < now/second {
			over = append(over, key)
		}
	}
	from := len(list)
	for _, k := range over {
		if err := m.LookupAndDelete(&k, &sum); err != nil {
			continue // told already: an iteration may show a key twice
		}
		list = append(list, event.RequestSum{
			At: k.Second*second + t.decode.toUnix, PID: k.Tgid, Comm: comm(&sum.Comm), Op: event.Op(k.Op), Device: event.Device(k.Dev),
			Requests: sum.Requests, Errors: sum.Errors, Bytes: sum.Bytes, QueueNS: sum.Queue, DeviceNS: sum.Device, MaxNS: sum.Max,
		})
	}
	slices.SortFunc(list[from:], func(a, b event.RequestSum) int {
		switch {
		case a.At != b.At:
			return int(int64(a.At - b.At))
		case a.PID != b.PID:
			return int(a.PID) - int(b.PID)
		case a.Device != b.Device:
			return int(a.Device) - int(b.Device)
		}
		return int(a.Op) - int(b.Op)
	})
	return list, nil
}
