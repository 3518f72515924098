package storetest

import (
	"fmt"
	"testing"

	"github.com/ingero-io/ingero/echo/question"
	"github.com/ingero-io/ingero/echo/store"
)

// NewestScore tests that an empty store finds the newest score, whether it is sent as a fraction or as an integer.
func NewestScore(t *testing.T, s store.Store) {
	t.Helper()
	if _, err := s.Write(t.Context(), Scores()); err != nil {
		t.Fatal(err)
	}
	list, more, err := question.New(s).Health(t.Context(), question.Scope{To: 1 << 62, Cluster: "east"})
	if err != nil || more || len(list) != 2 {
		t.Fatalf("%+v, %v, %v", list, more, err)
	}
	if got := fmt.Sprint(*list[0].Rank, list[0].Score, *list[1].Rank, list[1].Score); got != "0 1 1 0.25" {
		t.Error(got)
	}
}
