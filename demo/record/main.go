// Command record makes the recordings that "ingero demo" replays where tracing
// is not permitted. It needs root; run it by "make demo-record".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ingero-io/ingero/demo"
	"github.com/ingero-io/ingero/diagnose"
	"github.com/ingero-io/ingero/store"
)

func main() {
	dir := flag.String("dir", "demo/recorded", "where to put the recordings")
	length := flag.Duration("length", 4*time.Second, "how long each program runs")
	rate := flag.Int("rate", 20, "calls stored one by one a second")
	flag.Parse()
	if err := record(*dir, *length, *rate, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// record makes the recordings of the named scenarios, or of all.
func record(dir string, length time.Duration, rate int, names []string) error {
	if len(names) == 0 {
		for _, s := range demo.Scenarios {
			names = append(names, s.Name)
		}
	}
	for _, name := range names {
		if err := one(dir, name, length, rate); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// one records a scenario until its explanation is right: a replay is to show
// what Ingero can do, whatever else this machine was doing.
func one(dir, name string, length time.Duration, rate int) error {
	const attempts = 5
	s, err := demo.Find(name)
	if err != nil {
		return err
	}
	for range attempts {
		temp, err := os.MkdirTemp("", "ingero-record-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		path := filepath.Join(temp, name+".db")
		r, err := demo.Run(context.Background(), s, demo.Options{
			Length: length, Keep: path, Live: true, RawRate: rate, Version: "demo", Session: anonymous, Args: slowly(s),
		})
		if err != nil {
			return err
		}
		fmt.Printf("%-16s right=%-5v %s\n", name, r.Right, r.Report.Verdict)
		if !r.Right {
			continue
		}
		if err := scrub(path, r.Truth.PID, r.Truth.CulpritPID, r.Truth.ClientPID); err != nil {
			return err
		}
		r.Truth.Cgroup = ""
		return demo.Pack(dir, r, path)
	}
	return fmt.Errorf("not explained right in %d attempts", attempts)
}

// slowly makes the program take fewer steps, and so the recording smaller. Where
// a quota is to bite, the program has to be busy.
func slowly(s *demo.Scenario) []string {
	if s.Expect == diagnose.CPUThrottled {
		return nil
	}
	return []string{"--pace-us", "5000"}
}

// anonymous removes what would identify this machine.
func anonymous(s *store.Session) {
	s.Host = "demo"
	if parts := strings.SplitN(s.Kernel, ".", 3); len(parts) == 3 {
		s.Kernel = parts[0] + "." + parts[1]
	}
}
