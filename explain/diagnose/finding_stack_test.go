package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/diagnose/diagnosetest"
	"github.com/ingero-io/ingero/store/eventtext"
)

// A finding is about the operation in which most was lost. Its stack is of such a call, also if a
// call of another operation took longer; without one, of what there is.
func TestTheStackOfAFindingIsOfTheCallsThatItNames(t *testing.T) {
	const input = `
process engine pid=100 parent=1 cgroup=/jobs/train traced
thread main pid=100 tid=100 comm=engine dispatch
repeat 50 {
  call . thread=main op=cudaEventRecord dur=5us
  repeat 20 {
    repeat 200 {
      call . thread=main op=cudaLaunchKernel dur=4us..6us
      skip thread=main dur=1us
    }
    call . thread=main op=cudaStreamSynchronize dur=5us
  }
  call . thread=main op=cudaLaunchKernel dur=30ms stack=0x1
}
call . thread=main op=cudaEventRecord dur=60ms stack=0x2
repeat 10 {
  call . thread=main op=cudaLaunchKernel dur=4us..6us
}
`
	stacks := map[uint64]event.Stack{
		1: {ID: 1, Frames: []event.Frame{{Symbol: "step", Module: "engine"}}},
		2: {ID: 2, Frames: []event.Frame{{Symbol: "load", Module: "engine"}}},
	}
	for known, want := range map[uint64]string{1: "step [engine]", 2: "load [engine]"} {
		r, err := eventtext.Parse(input)
		if err != nil {
			t.Fatal(err)
		}
		in := diagnosetest.InputOf(r)
		in.Stacks = map[uint64]event.Stack{2: stacks[2], known: stacks[known]}
		got := diagnose.Diagnose(in)
		if len(got.Chains) == 0 || !strings.Contains(got.Chains[0].Summary, "inside cudaLaunchKernel") ||
			!slices.Equal(got.Chains[0].Stack, []string{want}) {
			t.Errorf("%s; want the stack %q, got %+v", got.Verdict, want, got.Chains)
		}
	}
}
