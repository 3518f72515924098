package bench

import (
	"context"
	"testing"

	"github.com/ingero-io/ingero/capture/probe"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

// TestARoundOfCallsOnThisKernel checks that there are figures. It asserts no times.
func TestARoundOfCallsOnThisKernel(t *testing.T) {
	kerneltest.Require(t)
	l, err := newLab(Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	v, err := l.files.Start(context.Background(), cudastub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, o := range map[string]*probe.Options{"nothing": nil, "empty": {Empty: true}, "full": {}} {
		cost, err := callRound(l, v, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(cost) != len(callKinds) {
			t.Fatalf("%s: %d figures for %d kinds of calls", name, len(cost), len(callKinds))
		}
		for i, ns := range cost {
			if ns <= 0 {
				t.Errorf("%s: a call %s took %g ns", name, callKinds[i].name, ns)
			}
		}
	}
}
