package limit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ingero-io/ingero/capture/limit"
)

func TestWhatDoesNotReturnIsGivenUp(t *testing.T) {
	t.Parallel()
	p := &limit.Patient{Wait: time.Hour}
	for i := range 100 {
		if v, err := limit.Within(p, func() (int, error) { return i, nil }, nil); v != i || err != nil || p.Stuck() {
			t.Fatalf("%d, %v", v, err)
		}
	}
	fault := errors.New("fault")
	if _, err := limit.Within(p, func() (int, error) { return 0, fault }, nil); !errors.Is(err, fault) {
		t.Error(err)
	}
	p.Wait = 10 * time.Millisecond
	answer, came := make(chan int), make(chan int)
	blocked := func() (int, error) { return <-answer, nil }
	if _, err := limit.Within(p, blocked, func(v int) { came <- v }); !errors.Is(err, limit.ErrNoAnswer) {
		t.Fatal(err)
	}
	if _, err := limit.Within(p, func() (int, error) { panic("begun") }, nil); !errors.Is(err, limit.ErrNoAnswer) || !p.Stuck() {
		t.Error("another call was begun:", err)
	}
	answer <- 7
	if v := <-came; v != 7 {
		t.Errorf("what came late was %d", v)
	}
	for end := time.Now().Add(10 * time.Second); p.Stuck() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if v, err := limit.Within(p, func() (int, error) { return 8, nil }, nil); v != 8 || err != nil {
		t.Errorf("afterwards: %d, %v", v, err)
	}
}
