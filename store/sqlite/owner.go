package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/store"
)

// writeOwner writes the owner of the process with the given row, if it is known.
func (w *Writer) writeOwner(process int64, o *owner.Owner) error {
	if *o == (owner.Owner{}) {
		return nil
	}
	return exec(w.conn, "insert or replace into owner values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", process,
		nullInt(o.CgroupID), nullText(o.Container), nullText(o.Runtime), nullText(o.PodUID), nullText(o.Namespace),
		nullText(o.Pod),
		nullText(o.PodContainer), nullText(o.SlurmJob), nullText(o.SlurmStep), nullText(o.Unit), nullInt(uint64(o.NSPID)))
}

func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func nullInt(n uint64) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

// owners reads the owners of processes, from the latest row of each id.
func (r *Reader) owners(ctx context.Context, w store.Window) (map[uint32]owner.Owner, error) {
	out := map[uint32]owner.Owner{}
	const query = `select p.pid, o.cgroup_id, o.container, o.runtime, o.pod_uid, o.namespace, o.pod, o.pod_container,
		o.slurm_job, o.slurm_step,
		o.unit, o.ns_pid from process p left join owner o on o.process = p.id`
	if ok, err := r.has(ctx, "owner"); err != nil || !ok {
		return out, err
	}
	err := r.eachProcess(ctx, w, query, func(s *sqlite.Stmt) error {
		out[uint32(s.ColumnInt64(0))] = owner.Owner{
			CgroupID: uint64(s.ColumnInt64(1)), Container: s.ColumnText(2), Runtime: s.ColumnText(3), PodUID: s.ColumnText(4),
			Namespace: s.ColumnText(5), Pod: s.ColumnText(6), PodContainer: s.ColumnText(7), SlurmJob: s.ColumnText(8),
			SlurmStep: s.ColumnText(9), Unit: s.ColumnText(10), NSPID: uint32(s.ColumnInt64(11)),
		}
		return nil
	})
	return out, err
}
