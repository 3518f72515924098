package sqlite_test

import (
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/host/owner"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Recordings made before reclaim, sockets, kernels and owners were recorded have no tables for
// them, and are read all the same.
func TestRecordingsWithoutReclaimsAreRead(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	must(t, w.Write(fullBatch(t)))
	must(t, w.Close())
	makeDB(t, path, "drop view collective_arrivals; drop view collectives; drop table collective; drop view system_snapshots; drop view gpu_snapshots; drop view gpus; drop view gpu_process_memory; drop view gpu_xids; drop table gpu_device; drop table gpu_process; drop table gpu_xid; alter table gpu_snapshot drop column mem_util; alter table gpu_snapshot drop column mem_clock; alter table gpu_snapshot drop column power; alter table gpu_snapshot drop column power_limit; alter table gpu_snapshot drop column ecc_corrected; alter table gpu_snapshot drop column ecc_uncorrected; alter table gpu_snapshot drop column ecc_corrected_ever; alter table gpu_snapshot drop column ecc_uncorrected_ever; alter table gpu_snapshot drop column mig; alter table snapshot drop column psi_cpu_pct; alter table snapshot drop column psi_memory_pct; alter table snapshot drop column psi_memory_full_pct; alter table snapshot drop column psi_io_pct; alter table snapshot drop column psi_io_full_pct; drop view net_events; drop view reclaims; drop view memory_limits; drop table memory_limit; drop table reclaim; drop table socket; drop view scheduling_policies; drop table scheduling; drop table memory_node; drop view stack_frames; drop view stack_traces; drop table frame_build; drop table stack_cut; drop view kernels; drop view kernel_launches; drop table kernel; drop view processes; drop table owner; drop view calls_in_flight; drop view long_calls; drop view lock_holders; drop table in_flight; drop table syscall_second; drop table syscall_error; drop table touched; drop table path_miss; drop table program; drop table mapped_library; drop table process_cpu; drop table request; drop table request_second; drop table device; drop table file; drop table tcp; drop table host_memory; pragma user_version = 3")
	r := reader(t, path)
	reclaims, err := r.Reclaims(t.Context(), store.Window{})
	must(t, err)
	if limits, err := r.MemoryLimits(t.Context()); len(limits) != 0 || err != nil {
		t.Errorf("memory limits: %v, %v", limits, err)
	}
	if kernels, err := r.Kernels(t.Context()); len(kernels) != 0 || err != nil {
		t.Errorf("kernels: %v, %v", kernels, err)
	}
	if procs, err := r.Processes(t.Context()); len(procs) == 0 || procs[0].Owner != (owner.Owner{}) || err != nil {
		t.Errorf("processes: %v, %v", procs, err)
	}
	waits, sockets := 0, 0
	must(t, r.OffCPU(t.Context(), store.Window{}, func(o *event.OffCPU) bool {
		waits++
		if o.Socket.Kind != 0 {
			sockets++
		}
		return true
	}))
	if len(reclaims) != 0 || sockets != 0 || waits != len(fullBatch(t).OffCPU) {
		t.Errorf("%d reclaims and %d sockets of a file without them; %d intervals", len(reclaims), sockets, waits)
	}
	// The next writer brings the file up to date.
	w = open(t, path, sqlite.Options{})
	must(t, w.Write(fullBatch(t)))
	must(t, w.Close())
	if reclaims, err = reader(t, path).Reclaims(t.Context(), store.Window{}); len(reclaims) != 1 || err != nil {
		t.Errorf("after another run: %v, %v", reclaims, err)
	}
}

// A control group is known by its path also if nothing but a process is in it.
func TestTheControlGroupOfAProcessIsKept(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	must(t, w.Write(&store.Batch{Processes: []store.Process{{PID: 7, Name: "engine", Cgroup: "/a", Rank: -1, LocalRank: -1, WorldSize: -1}}}))
	must(t, w.Flush(t.Context()))
	must(t, w.Close())
	procs, err := reader(t, path).Processes(t.Context())
	if err != nil || len(procs) != 1 || procs[0].Cgroup != "/a" {
		t.Errorf("processes %+v, %v", procs, err)
	}
}
