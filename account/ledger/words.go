package ledger

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ingero-io/ingero/event"
)

// InOrder compares calls of a thread by start: the order that FindSteps needs.
func InOrder(a, b event.CallTime) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Duration, b.Duration), cmp.Compare(a.Op, b.Op))
}

// maxWords is how many operations of a step are named.
const maxWords = 4

// Words lists the calls of a step: "2 cudaMemcpyAsync, 1 cudaStreamSynchronize".
func (s *Steps) Words() string {
	var words []string
	for _, c := range s.Calls[:min(len(s.Calls), maxWords)] {
		if c.N > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.N, c.Op))
		}
	}
	if n := len(s.Calls) - maxWords; n > 0 {
		words = append(words, fmt.Sprintf("%d more operations", n))
	}
	return strings.Join(words, ", ")
}
