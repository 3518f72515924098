// Made writes the recordings that the tests of the page show: a training loop that
// sometimes loses its CPU, readings of the machine and its GPU, allocations,
// collective operations of four ranks, and a footprint.
//
//	made -calls 1000000 FILE    that many calls, on a fixed day
//	made -grow FILE             from now on, in real time, until standard input ends
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

func main() {
	calls := flag.Int("calls", 1_000_000, "how many calls")
	grow := flag.Bool("grow", false, "go on in real time until standard input ends")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: made [-calls N | -grow] FILE")
		os.Exit(2)
	}
	load := storetest.Load{Calls: *calls, Threads: 2, Graphs: true, Seed: 1}
	var pace func(second int) error
	if *grow {
		began := time.Now()
		load.Start, load.Calls, load.Rate = uint64(began.UnixNano()), 1<<40, 2000
		pace = realTime(began)
	}
	if err := build(flag.Arg(0), load, pace); err != nil {
		fmt.Fprintln(os.Stderr, "made:", err)
		os.Exit(1)
	}
}

var errEnd = errors.New("standard input has ended")

// realTime returns a function that waits for the start of a second, counted from began. It returns
// errEnd if standard input has ended.
func realTime(began time.Time) func(int) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin) // however it ends
	}()
	return func(second int) error {
		select {
		case <-ended:
			return errEnd
		case <-time.After(time.Until(began.Add(time.Duration(second) * time.Second))):
			return nil
		}
	}
}

// build records the calls of a load and, once a second, what a machine adds. pace, if not nil, is
// called once a second.
func build(path string, l storetest.Load, pace func(second int) error) (err error) {
	if l.Start == 0 {
		l.Start = storetest.DefaultStart
	}
	m := machine{start: l.Start, now: l.Start}
	w, err := sqlite.OpenWriter(path, sqlite.Options{
		Now: func() time.Time { return time.Unix(0, int64(m.now)) },
		Session: store.Session{
			Started: l.Start, Node: "gpu-node-01", Host: "gpu-node-01", Kernel: "6.12.0", Arch: "amd64",
			CPUs: 16, Version: "made up", Backend: "multi",
		},
		Seed:    1,
		RawRate: math.MaxInt32, // every call is stored
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	second := 0
	l.Batches(func(b *store.Batch) bool {
		last := b.Calls[len(b.Calls)-1].Start
		m.now = last
		m.calls(b)
		if last < l.Start+uint64(second)*uint64(time.Second) {
			err = w.Write(b)
			return err == nil
		}
		m.addSecond(b, second)
		if pace != nil {
			err = pace(second)
		}
		second++
		if err == nil {
			err = w.Write(b)
		}
		if err == nil {
			err = w.Flush(context.Background())
		}
		if err == nil && pace != nil && second == 1 {
			_, err = fmt.Println("begun") // the test that waits may read the file now
		}
		return err == nil
	})
	if errors.Is(err, errEnd) {
		return nil
	}
	return err
}
