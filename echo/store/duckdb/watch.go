package duckdb

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/echo/store"
)

// look is the time between two readings of the process's memory while questions run.
const look = 10 * time.Millisecond

// grown is the growth, in bytes, from which on memory is given back after the last question.
const grown = 32 << 20

const (
	// besides is how much memory the process may have besides the engine's own before questions end, in bytes. Writing
	// 340,000 points a second takes most of it; questions that were ended at 400 MB in all had not taken much.
	besides = 352 << 20
	// growth is by how much the process may grow while questions run, in bytes.
	growth = 256 << 20
)

// watch ends questions when the process has too much memory while they run. The engine's own limit does not count all
// memory of its functions.
type watch struct {
	most int64 // bytes of the process, unless it has grown by less

	mu      sync.Mutex // guards the rest
	running map[*context.CancelCauseFunc]struct{}
	stop    chan struct{} // closed to end the goroutine
	ended   chan struct{} // closed when the goroutine has ended
}

func newWatch(most int64) *watch {
	return &watch{most: most, running: map[*context.CancelCauseFunc]struct{}{}}
}

// begin watches a question until done is called. It cancels the returned context if the question must end.
func (w *watch) begin(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[&cancel] = struct{}{}
	if len(w.running) == 1 {
		w.stop, w.ended = make(chan struct{}), make(chan struct{})
		go w.runWatch(resident(), w.stop, w.ended)
	}
	return ctx, func() { w.end(&cancel) }
}

func (w *watch) end(cancel *context.CancelCauseFunc) {
	(*cancel)(nil)
	w.mu.Lock()
	delete(w.running, cancel)
	var ended chan struct{}
	if len(w.running) == 0 {
		close(w.stop)
		ended = w.ended
	}
	w.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

func (w *watch) runWatch(before int64, stop, ended chan struct{}) {
	defer close(ended)
	most := max(w.most, before+growth)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			if resident()-before > grown {
				debug.FreeOSMemory()
				trim()
			}
			return
		case <-tick.C:
		}
		if resident() <= most {
			continue
		}
		w.endAll(&store.LimitError{Limit: fmt.Sprintf("the program took more than %d MiB of memory", most>>20)})
	}
}

// endAll ends all running questions.
func (w *watch) endAll(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for cancel := range w.running {
		(*cancel)(why)
	}
}

// resident returns the process's memory in bytes; 0: not known.
func resident() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
