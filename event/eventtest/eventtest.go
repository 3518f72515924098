// Package eventtest helps tests to make records.
package eventtest

import (
	"testing"

	"github.com/ingero-io/ingero/event"
)

// Op is the operation with a name of the catalogue.
func Op(t testing.TB, name string) event.Op {
	t.Helper()
	info, ok := event.ByName(name)
	if !ok {
		t.Fatalf("the catalogue has no operation %s", name)
	}
	return info.Op
}
