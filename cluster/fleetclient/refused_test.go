package fleetclient

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/fleetserver"
)

// The answer says what was refused and why, over HTTP and gRPC.
func TestTheAnswerSaysWhatIsRefused(t *testing.T) {
	for _, scheme := range []string{"http", "grpc"} {
		fleet := fleetserver.New(fleetserver.Options{})
		url := serve(t, scheme, fleet)
		c, other := client(t, Options{URL: url}), client(t, Options{URL: url})
		if _, err := c.Push(t.Context(), some()); err != nil {
			t.Fatal(err)
		}
		a, err := other.Push(t.Context(), of("m"))
		if err == nil || a.Reply == nil || !strings.HasSuffix(err.Error(), ": rank 1: another node pushes this rank") {
			t.Errorf("%s: %+v, %v", scheme, a.Reply, err)
		}
		p := some()
		p.Health.Sent = math.MaxInt64
		a, err = c.Push(t.Context(), p)
		if err == nil || a.Reply != nil ||
			!strings.Contains(err.Error(), ".sent: is 2262-04-11T23:47:16Z, more than 24h0m0s after the fleet's clock") {
			t.Errorf("%s: %+v, %v", scheme, a.Reply, err)
		}
		p.Health.Sent = time.Duration(time.Now().Add(14 * time.Hour).UnixNano())
		if a, err := c.Push(t.Context(), p); err != nil || a.Reply == nil { // another time zone
			t.Errorf("%s: %+v, %v", scheme, a.Reply, err)
		}
		if !c.Reachable() || !other.Reachable() {
			t.Errorf("%s: a fleet that refuses does not count as reachable", scheme)
		}
	}
}
