package probe_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// BenchmarkSystemCall is what a system call costs while nothing is attached, while
// the footprint of another process is taken, and while its own is; docs/footprint.md
// has what it printed. The tracer never traces itself, so that the ledger has no
// part in the last but for the time of a blocked thread.
func BenchmarkSystemCall(b *testing.B) {
	kerneltest.Require(b)
	null, err := unix.Open("/dev/null", unix.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(null)
	for _, c := range []struct {
		name  string
		watch int
	}{{"alone", 0}, {"of_others", 1}, {"counted", os.Getpid()}} {
		measureCalls(b, c.name, c.watch, null)
	}
}

// measureCalls measures while the footprint of a process is taken, of none if that
// is 0.
func measureCalls(b *testing.B, name string, watch, null int) {
	tr, err := probe.Open(probe.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer tr.Close()
	if watch > 0 {
		f, err := tr.OpenFootprint()
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		if err := f.Watch(watch); err != nil {
			b.Fatal(err)
		}
	}
	one := []byte{0}
	b.Run(name+"/getppid", func(b *testing.B) {
		for b.Loop() {
			_, _, _ = unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		}
	})
	b.Run(name+"/write", func(b *testing.B) {
		for b.Loop() {
			if _, err := unix.Write(null, one); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPage is what it costs to be given a page, with nothing attached and while
// pages are counted; docs/host.md has what it printed.
func BenchmarkPage(b *testing.B) {
	kerneltest.Require(b)
	tr, err := probe.Open(probe.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer tr.Close()
	const pages = 4096
	size := pages * os.Getpagesize()
	touch := func(b *testing.B) {
		for b.Loop() {
			m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
			if err != nil {
				b.Fatal(err)
			}
			if err := unix.Madvise(m, unix.MADV_NOHUGEPAGE); err != nil {
				b.Fatal(err)
			}
			for n := 0; n < size; n += os.Getpagesize() {
				m[n] = 1
			}
			if err := unix.Munmap(m); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pages, "ns/page")
	}
	for range 3 {
		b.Run("alone", touch)
		p, err := tr.OpenPages()
		if err != nil {
			b.Fatal(err)
		}
		b.Run("counted", touch)
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
