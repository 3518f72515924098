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

// look is how often the memory of this process is looked at while questions run.
const look = 10 * time.Millisecond

// grown is from how many bytes on memory that questions took is given back when the last of them has ended.
const grown = 32 << 20

// watch ends questions when this process has too much memory while they run. The engine's own limit does not count all
// that its functions take.
type watch struct {
	most int64 // bytes of this process, or half as much more than before the first of them

	mu      sync.Mutex // guards the rest
	running map[*context.CancelCauseFunc]struct{}
	stop    chan struct{} // closed to end the goroutine that looks
	ended   chan struct{} // closed when it has
}

func newWatch(most int64) *watch {
	return &watch{most: most, running: map[*context.CancelCauseFunc]struct{}{}}
}

// begin watches a question until done is called. The context ends if it is to end.
func (w *watch) begin(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[&cancel] = struct{}{}
	if len(w.running) == 1 {
		w.stop, w.ended = make(chan struct{}), make(chan struct{})
		go w.run(resident(), w.stop, w.ended)
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

func (w *watch) run(before int64, stop, ended chan struct{}) {
	defer close(ended)
	most := max(w.most, before+w.most/2)
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
		w.endAll(&store.LimitError{Limit: fmt.Sprintf("the program came to have more than %d MiB of memory", most>>20)})
	}
}

// endAll ends all questions that run.
func (w *watch) endAll(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for cancel := range w.running {
		(*cancel)(why)
	}
}

// resident is how much memory this process has, in bytes; 0: not known.
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
