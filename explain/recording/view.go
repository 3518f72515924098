package recording

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// Question selects a time and calls of a recording.
type Question struct {
	Span
	Scope
}

// View is a recording restricted to a question. It is used by one goroutine.
type View struct {
	store.Recording
	Part
	PIDs []uint32 // only these processes, in order; empty: all
	Op   event.Op // only this operation; 0: all

	names map[uint32]string // of processes, once needed
}

// Ask returns the view for a question. IsMistaken distinguishes an error in the question from one of the recording.
func Ask(ctx context.Context, r store.Recording, q Question, now time.Time) (*View, error) {
	v := &View{Recording: r, Op: q.Op}
	var err error
	if v.Part, err = Choose(ctx, r, q.Span, now); err != nil {
		return nil, err
	}
	if q.everybody() {
		return v, nil
	}
	list, err := store.List[store.Process](ctx, r, store.Window{})
	if err != nil {
		return nil, err
	}
	if v.PIDs, err = q.pidsOf(list); err != nil {
		return nil, err
	}
	return v, nil
}

// IsMistaken reports whether an error of Ask or Choose is in the question and not in the recording.
func IsMistaken(err error) bool {
	if _, ok := errors.AsType[*NoProcessError](err); ok {
		return true
	}
	_, ok := errors.AsType[spanError](err)
	return ok
}

// Wants reports whether a process's calls are asked for.
func (v *View) Wants(pid uint32) bool { return len(v.PIDs) == 0 || slices.Contains(v.PIDs, pid) }

// WantsOp reports whether a process's calls of an operation are asked for.
func (v *View) WantsOp(pid uint32, op event.Op) bool {
	return v.Wants(pid) && (v.Op == 0 || v.Op == op)
}

// Uncounted reports whether the recording has no counts of dropped records.
func (v *View) Uncounted() bool { return uncounted(v.Recording) }

// CutsSecond reports whether the window begins or ends within a second of the recording, so that
// statistics by the second cover more than the window.
func (v *View) CutsSecond() bool {
	if v.Uncounted() {
		return false // every call is counted individually there
	}
	from, to, sum := v.Window.From, v.Window.To, &v.Sum
	const second = uint64(time.Second)
	return from%second != 0 && from > sum.First && from <= sum.Last || to%second != 0 && to <= sum.Last
}

// Condition returns the view as a condition for the public SQL views: "timestamp >= … and …".
func (v *View) Condition() string {
	from, to := v.Window.From, v.Window.To
	if to == 0 || to > math.MaxInt64 {
		to = math.MaxInt64
	}
	cond := fmt.Sprintf("timestamp >= %d and timestamp < %d", min(from, math.MaxInt64), to)
	if len(v.PIDs) > 0 {
		pids := make([]uint32, len(v.PIDs))
		for i, pid := range v.PIDs {
			pids[i] = event.KernelID(pid) // which SQL knows
		}
		cond += " and pid in (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(pids), " ", ","), "[]") + ")"
	}
	return cond
}
