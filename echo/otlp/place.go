package otlp

import (
	"fmt"
	"math"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/ingero-io/ingero/echo/row"
)

// place says which cluster, node and rank a row belongs to.
type place struct {
	cluster, node string
	byRequest     bool // no attribute names the cluster
	rank, ranks   int32
}

// The attributes that say so, the most specific first. A point's take precedence over its resource's.
var (
	clusterNames = []string{"ingero.cluster.id", "cluster_id", "k8s.cluster.name"}
	nodeNames    = []string{"ingero.node.id", "node_id", "host.name", "k8s.node.name", "service.instance.id"}
	rankNames    = []string{"rank", "ingero.node.rank", "ingero.rank", "nccl.rank"}
	ranksNames   = []string{"nranks", "ingero.world_size", "world_size", "nccl.nranks"}
)

// read sets the fields that attributes have; others stay.
func (p *place) read(attrs pcommon.Map) error {
	if attrs.Len() == 0 {
		return nil
	}
	cluster := ""
	for _, t := range []struct {
		names []string
		to    *string
	}{{clusterNames, &cluster}, {nodeNames, &p.node}} {
		v, name := first(attrs, t.names)
		if name == "" || v.AsString() == "" {
			continue
		}
		text, err := named(name, v.AsString())
		if err != nil {
			return err
		}
		*t.to = text
	}
	if cluster != "" {
		p.cluster, p.byRequest = cluster, false
	}
	if v, name := first(attrs, rankNames); name != "" {
		if n, ok := whole(v); ok {
			p.rank = n
		}
	}
	if v, name := first(attrs, ranksNames); name != "" {
		if n, ok := whole(v); ok {
			p.ranks = n
		}
	}
	return nil
}

// first returns the value of the first name that is there.
func first(attrs pcommon.Map, names []string) (pcommon.Value, string) {
	for _, n := range names {
		if v, ok := attrs.Get(n); ok {
			return v, n
		}
	}
	return pcommon.Value{}, ""
}

// whole returns a whole number, which may also be sent as a text. Any other value, such as a rank of -1, counts as
// not known.
func whole(v pcommon.Value) (int32, bool) {
	var n int64
	switch v.Type() {
	case pcommon.ValueTypeInt:
		n = v.Int()
	case pcommon.ValueTypeStr:
		var err error
		if n, err = strconv.ParseInt(v.Str(), 10, 32); err != nil {
			return row.None, false
		}
	case pcommon.ValueTypeDouble:
		if d := v.Double(); d == math.Trunc(d) && math.Abs(d) <= math.MaxInt32 {
			n = int64(d)
		} else {
			return row.None, false
		}
	default:
		return row.None, false
	}
	return int32(n), n >= 0 && n <= math.MaxInt32
}

// kept returns an error if a text is too long to be kept.
func kept(what, text string) (string, error) {
	text = valid(text)
	if len(text) > MaxText {
		return "", fmt.Errorf("the %s has %d bytes; %d are kept", what, len(text), MaxText)
	}
	return text, nil
}
