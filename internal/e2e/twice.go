package e2e

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Twice runs a check of what a shared machine may disturb. If it fails, that is
// logged, and it is run once more: then it has to pass.
func Twice(t *testing.T, run func(t testing.TB)) {
	t.Helper()
	a := &attempt{TB: t}
	done := make(chan struct{})
	go func() { // which Fatal ends
		defer close(done)
		run(a)
	}()
	<-done
	if !a.failed || t.Skipped() {
		return
	}
	t.Logf("failed, and is tried once more:\n%s", strings.Join(a.said, "\n"))
	run(t)
}

// attempt is a test that may fail without consequence.
type attempt struct {
	testing.TB
	failed bool
	said   []string
}

func (a *attempt) Log(args ...any) { a.said = append(a.said, fmt.Sprintln(args...)) }
func (a *attempt) Logf(format string, args ...any) {
	a.said = append(a.said, fmt.Sprintf(format, args...))
}
func (a *attempt) Fail()        { a.failed = true }
func (a *attempt) Failed() bool { return a.failed }

func (a *attempt) FailNow() {
	a.Fail()
	runtime.Goexit()
}

func (a *attempt) Error(args ...any) {
	a.Log(args...)
	a.Fail()
}

func (a *attempt) Errorf(format string, args ...any) {
	a.Logf(format, args...)
	a.Fail()
}

func (a *attempt) Fatal(args ...any) {
	a.Log(args...)
	a.FailNow()
}

func (a *attempt) Fatalf(format string, args ...any) {
	a.Logf(format, args...)
	a.FailNow()
}
