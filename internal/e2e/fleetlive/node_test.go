package fleetlive

import (
	"testing"

	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/netns"
)

// A process that still runs keeps its namespace, but a node of the same name can be made.
func TestANodeIsMadeAgain(t *testing.T) {
	kerneltest.Require(t)
	const network = "10.213.99"
	first, err := netns.New(t.Context(), 25, network)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, first, nil, "sh", "-c", "echo here; exec sleep 60")
	p.out.After(t, "here")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := netns.New(t.Context(), 25, network)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
