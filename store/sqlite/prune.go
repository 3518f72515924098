package sqlite

import "fmt"

// argsEpoch says that only calls that start at or before the time refer to rows of args below id.
type argsEpoch struct {
	id int64
	at uint64
}

// startEpoch clears the dictionary of arguments: later calls refer to rows with higher ids, so that
// the older rows can be deleted with their calls.
func (w *Writer) startEpoch() {
	w.args.forget()
	w.epochs = append(w.epochs, argsEpoch{w.args.last + 1, w.session.last})
}

// pruneStep is how many rows are deleted at a time, pruneSteps how often per flush. Together they
// are more than a flush at the default rate adds.
const (
	pruneStep  = 20_000
	pruneSteps = 8
)

// prune deletes the oldest raw rows while the file is larger than allowed, and the roll-ups that
// have a row for each process, as there may be any number of processes. Statistics of calls,
// sessions and names stay. Freed pages are reused, and returned to the file system a few at a time.
func (w *Writer) prune() error {
	if w.opt.MaxBytes <= 0 {
		return nil
	}
	for range pruneSteps {
		used, err := w.usedBytes()
		if err != nil {
			return err
		}
		// The write-ahead log and the next second also need space.
		if used <= w.opt.MaxBytes-w.opt.MaxBytes/10 {
			break
		}
		more, err := w.pruneOldest()
		if err != nil || !more {
			return err
		}
	}
	pages, err := queryInt(w.conn, "pragma page_count")
	if err != nil {
		return err
	}
	if pages*w.pageSize > w.opt.MaxBytes {
		return exec(w.conn, "pragma incremental_vacuum(500)")
	}
	return nil
}

func (w *Writer) usedBytes() (int64, error) {
	pages, err := queryInt(w.conn, "pragma page_count")
	if err != nil {
		return 0, err
	}
	free, err := queryInt(w.conn, "pragma freelist_count")
	return (pages - free) * w.pageSize, err
}

// rawTables are the tables, besides those of kinds, whose rows are deleted by their time, ts.
var rawTables = []string{"call", "call_ledger", "notable", "rest_size", "syscall_second", "program"}

// prunedTable is a table whose oldest rows are deleted, with the time of a row in SQL.
type prunedTable struct{ name, time string }

// prunedTables are all such tables.
var prunedTables = func() (list []prunedTable) {
	for _, name := range rawTables {
		list = append(list, prunedTable{name, "ts"})
	}
	kindTables(func(t *table) {
		if t.prune != "" {
			list = append(list, prunedTable{t.name, t.prune})
		}
	})
	return list
}()

// pruneOldest deletes the rows of the oldest span of time that holds pruneStep
// rows of the largest table, and reports whether there were any.
func (w *Writer) pruneOldest() (more bool, err error) {
	var cut int64
	for _, t := range prunedTables {
		if t.time != "ts" {
			continue // has no index
		}
		ts, err := queryInt(w.conn, fmt.Sprintf("select ts from %s order by ts limit 1 offset %d", t.name, pruneStep))
		if err != nil {
			return false, err
		}
		if ts > 0 && (cut == 0 || ts < cut) {
			cut = ts
		}
	}
	if cut == 0 {
		return false, nil
	}
	for _, t := range prunedTables {
		if err := exec(w.conn, "delete from "+t.name+" where "+t.time+" < ?1", cut); err != nil {
			return false, err
		}
		if t.name == "call" {
			n := uint64(w.conn.Changes())
			w.session.pruned += n
			w.txPruned += n
		}
	}
	if err := w.pruneFootprints(cut); err != nil {
		return false, err
	}
	return true, w.pruneArgs(uint64(cut))
}

// footprintTables have what a process touched, without a time.
var footprintTables = []string{"syscall_error", "touched", "path_miss", "mapped_library"}

// pruneFootprints deletes the rows of processes that ended before cut.
func (w *Writer) pruneFootprints(cut int64) error {
	for _, table := range footprintTables {
		err := exec(w.conn, "delete from "+table+" where exists (select 1 from process_cpu c where c.session = "+table+
			".session and c.pid = "+table+".pid and c.ended < ?)", cut)
		if err != nil {
			return err
		}
	}
	return exec(w.conn, "delete from process_cpu where ended < ?", cut)
}

func (w *Writer) pruneArgs(cut uint64) error {
	var below int64
	for len(w.epochs) > 0 && w.epochs[0].at < cut {
		below = w.epochs[0].id
		w.epochs = w.epochs[1:]
	}
	if below == 0 {
		return nil
	}
	return exec(w.conn, "delete from args where id < ?", below)
}
