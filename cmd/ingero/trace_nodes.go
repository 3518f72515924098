package main

import (
	"time"

	"github.com/ingero-io/ingero/serve/nodes"
	"github.com/ingero-io/ingero/tui"
)

// maxNodeWait is how long the view waits for one node: all are shown at once.
const maxNodeWait = 5 * time.Second

// noNodes says how to add other nodes to the view.
const noNodes = "No other nodes; name them: --nodes HOST:PORT,… or ingero.yaml, see docs/nodes.md"

// others are the nodes shown beside this one, or the reason why there are none. Invalid nodes in
// the configuration do not stop tracing; invalid --nodes are an error.
func (t *tracing) others(f *nodeFlags) (others tui.Nodes, why string, err error) {
	given := len(f.Nodes) > 0
	f.merge(&t.conf.Fleet)
	if len(f.Nodes) == 0 {
		return nil, noNodes, nil
	}
	if f.Timeout <= 0 || f.Timeout > maxNodeWait {
		f.Timeout = maxNodeWait
	}
	var fl *nodes.Client
	if fl, err = t.c.newNodesClient(f); err != nil {
		if given {
			return nil, "", err
		}
		return nil, "The nodes of " + t.conf.Path + " cannot be asked: " + err.Error(), nil
	}
	return fl, "", nil
}
