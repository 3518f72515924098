package main

import (
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// BenchmarkGRPC sends requests of 500 points from four producers at once. An operation is such a request. Senders are
// in the same process, and their CPU time counts, too.
func BenchmarkGRPC(b *testing.B) {
	e := serve(b, filepath.Join(b.TempDir(), "echo.db"))
	const senders = 4
	var all sync.WaitGroup
	work := make(chan int)
	for range senders {
		client, ctx := e.client(b)
		all.Go(func() {
			for i := range work {
				if err := send(ctx, client, points(i%producers, i/producers)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	before, sent := cpu(b), 0
	for b.Loop() {
		work <- sent
		sent++
	}
	close(work)
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(sent*perOne)/b.Elapsed().Seconds(), "points/s")
	b.ReportMetric((cpu(b)-before)/float64(sent*perOne)*1e6, "us-CPU/point")
}

// cpu is how many seconds of CPU time this process has taken.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
