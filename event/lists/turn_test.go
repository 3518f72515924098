package lists_test

import (
	"fmt"
	"testing"

	"github.com/ingero-io/ingero/event/lists"
)

func TestKeysComeInTurn(t *testing.T) {
	m := map[int]bool{30: true, 10: true, 20: true}
	var got []int
	last := 0
	for i := range 7 {
		last = lists.InTurn(m, last)
		got = append(got, last)
		if i == 3 {
			delete(m, 20)
			m[15] = true
		}
	}
	if fmt.Sprint(got) != "[10 20 30 10 15 30 10]" {
		t.Error(got)
	}
	if n := lists.InTurn(map[int]bool{}, 5); n != 0 {
		t.Errorf("of nothing: %d", n)
	}
}
