package sqlite

import (
	"context"
	"fmt"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// filler reads rows of one type.
type filler[R any] interface {
	// fill reads the rows of the window into list, a pointer to a slice or to a store.Tables; false: list has none of
	// them.
	fill(ctx context.Context, r R, w store.Window, list any) (bool, error)
}

// listOf is how a reader makes a list.
type listOf[R, T any] struct {
	rows func(*store.Tables) *[]T // where they are; nil: they are not read with all of store.Tables
	list func(R, context.Context, store.Window) ([]T, error)
}

func (f listOf[R, T]) fill(ctx context.Context, r R, w store.Window, list any) (bool, error) {
	to, ok := list.(*[]T)
	if t, all := list.(*store.Tables); all && f.rows != nil {
		to, ok = f.rows(t), true
	}
	if !ok || f.list == nil {
		return false, nil
	}
	var err error
	*to, err = f.list(r, ctx, w)
	return true, err
}

// tableLists are the lists that are not the rows of one kind: of several tables, and sums of calls.
var tableLists = []filler[*Reader]{
	listOf[*Reader, store.Process]{processesOf, (*Reader).processes},
	listOf[*Reader, store.ThreadInfo]{threadsOf, (*Reader).threads},
	listOf[*Reader, store.Label]{list: (*Reader).labels},
	listOf[*Reader, store.OpStat]{list: (*Reader).opStats},
	listOf[*Reader, store.GapStat]{list: (*Reader).gapStats},
	listOf[*Reader, store.KernelLaunches]{list: (*Reader).kernelLaunches},
	listOf[*Reader, store.Loss]{list: (*Reader).lossSeconds},
}

func processesOf(t *store.Tables) *[]store.Process { return &t.Processes }

func threadsOf(t *store.Tables) *[]store.ThreadInfo { return &t.Threads }

// legacyLists are the lists that an earlier Ingero recorded in its own way, and those that it did not record, of
// which its file may have a table of the same name.
var legacyLists = []filler[*legacyReader]{
	listOf[*legacyReader, store.Process]{processesOf, (*legacyReader).processes},
	listOf[*legacyReader, store.ThreadInfo]{threadsOf, (*legacyReader).threads},
	listOf[*legacyReader, store.OpStat]{list: (*legacyReader).opStats},
	listOf[*legacyReader, event.Life]{lifeKind.rows, (*legacyReader).readLives},
	listOf[*legacyReader, store.Snapshot]{snapshotKind.rows, (*legacyReader).snapshots},
	listOf[*legacyReader, store.GapStat]{list: unrecorded[store.GapStat]},
	listOf[*legacyReader, store.Throttle]{throttleKind.rows, unrecorded[store.Throttle]},
	listOf[*legacyReader, event.Stall]{stallKind.rows, unrecorded[event.Stall]},
	listOf[*legacyReader, store.Scheduling]{schedulingKind.rows, unrecorded[store.Scheduling]},
}

func unrecorded[T any](*legacyReader, context.Context, store.Window) ([]T, error) { return nil, nil }

// Tables implements store.Reader.
func (r *Reader) Tables(ctx context.Context, w store.Window, lists ...any) error {
	for _, list := range lists {
		known := false
		for _, k := range kinds {
			if err := fillFrom(ctx, k, r, w, list, &known); err != nil {
				return err
			}
		}
		for _, k := range tableLists {
			if err := fillFrom(ctx, k, r, w, list, &known); err != nil {
				return err
			}
		}
		if !known {
			return unreadable(list)
		}
	}
	return nil
}

// Tables implements store.Reader.
func (r *legacyReader) Tables(ctx context.Context, w store.Window, lists ...any) error {
	for _, list := range lists {
		known := false
		if t, all := list.(*store.Tables); all {
			for _, k := range kinds {
				if k.initial() {
					continue // of legacyLists
				}
				if _, err := k.fill(ctx, r.Reader, w, t); err != nil {
					return err
				}
			}
		}
		for _, k := range legacyLists {
			if err := fillFrom(ctx, k, r, w, list, &known); err != nil {
				return err
			}
		}
		if known {
			continue
		}
		if err := r.Reader.Tables(ctx, w, list); err != nil {
			return err
		}
	}
	return nil
}

func fillFrom[R any](ctx context.Context, f filler[R], r R, w store.Window, list any, known *bool) error {
	ok, err := f.fill(ctx, r, w, list)
	*known = *known || ok
	return err
}

func unreadable(list any) error {
	return fmt.Errorf("read rows: a %T is no list that a store.Reader fills; see store.Reader.Tables", list)
}
