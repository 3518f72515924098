package intake_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/ingero-io/ingero/echo/intake"
	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/store"
)

// slow is a store that writes on command, and notes how many rows came together.
type slow struct {
	mu      sync.Mutex
	batches []int
	err     error
	next    chan struct{} // nil: at once
}

func (s *slow) Write(_ context.Context, rows []row.Row) (store.Written, error) {
	if s.next != nil {
		<-s.next
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, len(rows))
	return store.Written{Rows: len(rows) - 1, Duplicates: 1}, s.err
}

// put returns when the rows are stored.
func put(ctx context.Context, q *intake.Queue, rows []row.Row) error {
	stored, err := q.Enter(ctx, time.Now(), rows)
	if err != nil {
		return err
	}
	return stored(ctx)
}

func TestRowsAreStoredWhenTheyAreWritten(t *testing.T) {
	s := &slow{}
	q := intake.New(s, intake.Options{})
	defer q.Close()
	if err := put(t.Context(), q, make([]row.Row, 3)); err != nil {
		t.Fatal(err)
	}
	if err := put(t.Context(), q, nil); err != nil {
		t.Error(err)
	}
	if c := q.Counts(); c.Kept != 2 || c.Duplicates != 1 || c.Batches != 1 || c.Waiting != 0 {
		t.Errorf("%+v", c)
	}
}

func TestWhatWaitsIsWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{next: make(chan struct{})}
		q := intake.New(s, intake.Options{Batch: 10})
		var all sync.WaitGroup
		add := func(n int) {
			all.Go(func() {
				if err := put(t.Context(), q, make([]row.Row, n)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		add(1) // is being written while the others come
		add(4)
		add(6)
		add(5)
		add(25) // more than a batch, alone
		close(s.next)
		all.Wait()
		q.Close()
		want := []int{1, 10, 5, 25}
		if len(s.batches) != len(want) {
			t.Fatalf("batches of %v; want %v", s.batches, want)
		}
		for i := range want {
			if s.batches[i] != want[i] {
				t.Fatalf("batches of %v; want %v", s.batches, want)
			}
		}
	})
}

func TestARequestWithoutRoomIsRefusedAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{next: make(chan struct{})}
		q := intake.New(s, intake.Options{Rows: 10, Patience: time.Second})
		var all sync.WaitGroup
		all.Go(func() {
			if err := put(t.Context(), q, make([]row.Row, 20)); err != nil { // alone it may exceed the room
				t.Error(err)
			}
		})
		synctest.Wait()
		begin := time.Now()
		if err := put(t.Context(), q, make([]row.Row, 1)); !errors.Is(err, intake.ErrFull) {
			t.Errorf("got %v; want ErrFull", err)
		}
		if took := time.Since(begin); took != time.Second { // of virtual time
			t.Errorf("refused after %v", took)
		}
		all.Go(func() { // waits, and gets room
			if err := put(t.Context(), q, make([]row.Row, 2)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		close(s.next)
		all.Wait()
		if c := q.Counts(); c.Full != 1 || c.Kept != 20 {
			t.Errorf("%+v", c)
		}
		q.Close()
	})
}

// One that has waited for as long elsewhere does not wait again, but has room if there is some.
func TestARequestThatHasWaitedIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{next: make(chan struct{})}
		q := intake.New(s, intake.Options{Rows: 10, Patience: time.Second})
		begin := time.Now()
		time.Sleep(time.Second) // of virtual time
		stored, err := q.Enter(t.Context(), begin, make([]row.Row, 10))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		_, err = q.Enter(ctx, begin, make([]row.Row, 1))
		if !errors.Is(err, intake.ErrFull) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v; want ErrFull before the sender gives up", err)
		}
		close(s.next)
		if err := stored(t.Context()); err != nil {
			t.Error(err)
		}
		q.Close()
	})
}

// Rows count as those without room, too, if their sender gives up before there is any.
func TestASenderGivesUpBeforeThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{next: make(chan struct{})}
		q := intake.New(s, intake.Options{Rows: 10, Patience: time.Second})
		var all sync.WaitGroup
		all.Go(func() {
			if err := put(t.Context(), q, make([]row.Row, 10)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		err := put(ctx, q, make([]row.Row, 3))
		if !errors.Is(err, intake.ErrFull) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v; want ErrFull, and why it did not wait longer", err)
		}
		close(s.next)
		all.Wait()
		q.Close()
		if c := q.Counts(); c.Full != 3 || c.Kept != 9 || c.Waiting != 0 {
			t.Errorf("%+v", c)
		}
	})
}

func TestAnErrorIsToldToAllOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		s := &slow{next: make(chan struct{}), err: broken}
		q := intake.New(s, intake.Options{})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := put(t.Context(), q, make([]row.Row, 2)); !errors.Is(err, broken) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		close(s.next)
		all.Wait()
		if c := q.Counts(); c.Failed != 6 || c.Kept != 0 || c.Waiting != 0 {
			t.Errorf("%+v", c)
		}
		q.Close()
	})
}

func TestCloseWritesWhatWaitsAndTakesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{next: make(chan struct{})}
		q := intake.New(s, intake.Options{Rows: 4})
		var all sync.WaitGroup
		all.Go(func() {
			if err := put(t.Context(), q, make([]row.Row, 4)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		all.Go(func() { // waits for room
			if err := put(t.Context(), q, make([]row.Row, 4)); !errors.Is(err, intake.ErrClosed) {
				t.Errorf("got %v; want ErrClosed", err)
			}
		})
		synctest.Wait()
		all.Go(q.Close)
		synctest.Wait()
		close(s.next)
		all.Wait()
		if err := put(t.Context(), q, make([]row.Row, 1)); !errors.Is(err, intake.ErrClosed) {
			t.Errorf("got %v; want ErrClosed", err)
		}
		q.Close()
	})
}

func TestARequestThatIsGivenUpIsNotWaitedFor(t *testing.T) {
	s := &slow{next: make(chan struct{})}
	q := intake.New(s, intake.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := put(ctx, q, make([]row.Row, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(s.next)
	q.Close()
}

// Rows that were written are not kept in memory.
func TestWhatIsWrittenIsForgotten(t *testing.T) {
	q := intake.New(&slow{}, intake.Options{})
	written := func() weak.Pointer[row.Row] {
		rows := make([]row.Row, 3)
		if err := put(t.Context(), q, rows); err != nil {
			t.Fatal(err)
		}
		return weak.Make(&rows[0])
	}
	first := written()
	q.Close() // nothing is being written
	runtime.GC()
	if first.Value() != nil {
		t.Error("they are still in memory")
	}
	runtime.KeepAlive(q)
}
