package mcptool

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/echo/outlier"
	"github.com/ingero-io/ingero/echo/question"
)

type outliersIn struct {
	scope
	Metric    string   `json:"metric,omitempty" jsonschema:"default ingero.node.health_score"`
	Threshold *float64 `json:"threshold,omitempty" jsonschema:"also count points beyond this value; default none"`
	Worse     worse    `json:"worse,omitempty" jsonschema:"default both, of health lower"`
	Sigmas    float64  `json:"sigmas,omitempty" jsonschema:"default 3.5"`
	Of        unit     `json:"of,omitempty" jsonschema:"default node"`
	Cohort    cohortBy `json:"cohort,omitempty" jsonschema:"default gpu: of the same model"`
	paging
}

type outliersOut struct {
	common
	Verdict    data     `json:"verdict"`
	Metric     data     `json:"metric"`
	Unit       data     `json:"unit,omitempty"`
	Measure    string   `json:"measure" jsonschema:"what value is"`
	Worse      string   `json:"worse"`
	Cohorts    []cohort `json:"cohorts" jsonschema:"by cluster and GPU"`
	Ranked     []ranked `json:"ranked" jsonschema:"worst first"`
	Next       []next   `json:"next"`
	NextCursor string   `json:"next_cursor,omitempty"`
}

type cohort struct {
	ClusterID data    `json:"cluster_id"`
	GPU       data    `json:"gpu,omitempty" jsonschema:"if there are several"`
	N         int     `json:"n"`
	Median    float64 `json:"median"`
	MAD       float64 `json:"mad"`
	Floored   bool    `json:"floored,omitempty" jsonschema:"a sigma is 1 % of the median"`
	Outliers  int     `json:"outliers"`
	Why       string  `json:"why,omitempty" jsonschema:"no outlier is named"`
}

type ranked struct {
	ClusterID data    `json:"cluster_id"`
	NodeID    data    `json:"node_id"`
	Rank      *int32  `json:"rank,omitempty"`
	GPU       data    `json:"gpu,omitempty"`
	Value     float64 `json:"value"`
	Sigmas    float64 `json:"sigmas" jsonschema:"from the median, above 0 if worse"`
	Outlier   bool    `json:"outlier"`
	Points    int64   `json:"points"`
	Beyond    int64   `json:"beyond,omitempty" jsonschema:"points beyond threshold"`

	cluster, node string
}

func (o outliersOut) rows() int { return len(o.Ranked) }

const (
	outliersName = "fleet.cluster.find_outlier_nodes"
	healthMetric = "ingero.node.health_score"
	// maxSigmas replaces any number above it: JSON has no infinity.
	maxSigmas = 9999
	// maxNames is how many metrics an answer names if the asked one does not exist.
	maxNames = 12
)

// healthNames are names of the health score, where lower is worse.
var healthNames = []string{healthMetric, "ingero.health.score"}

var outliersTool = tool[outliersIn, outliersOut]{
	name: outliersName,
	about: "Nodes or ranks whose metric is far from the others': by median and MAD over a cluster's nodes with the same " +
		"GPU.",
	run: func(ctx context.Context, s *Tools, in outliersIn) (out outliersOut, err error) {
		at, pinned, err := in.begin(in)
		if err != nil {
			return out, err
		}
		if !(in.Sigmas >= 0) || in.Sigmas > maxSigmas {
			return out, wrong("sigmas must be above 0")
		}
		asked := in
		in.Metric, in.Sigmas = cmp.Or(in.Metric, healthMetric), cmp.Or(in.Sigmas, outlier.Sigmas)
		if in.Worse == "" {
			if in.Worse = "both"; slices.Contains(healthNames, in.Metric) {
				in.Worse = "lower"
			}
		}
		sc, err := s.window(ctx, &out.common, in.ClusterID, cmp.Or(pinned, in.Window))
		if err != nil {
			return out, err
		}
		out.Metric, out.Worse = name(in.Metric), string(in.Worse)
		out.Cohorts, out.Ranked, out.Next = []cohort{}, []ranked{}, []next{}
		m, err := s.metric(ctx, sc, in.Metric, &out)
		if err != nil || m == nil {
			return out, err
		}
		if m.Grows() && in.Threshold != nil {
			in.Threshold = nil
			out.addNote("the threshold is not used: points of a sum are compared by their growth only")
		}
		values, more, err := s.ask.Values(ctx, sc, *m, in.Of == "rank", in.Threshold, in.Worse == "lower")
		if err != nil {
			return out, err
		}
		out.cut(more, "nodes")
		gpus := map[nodeKey]data{}
		if in.Cohort != "cluster" {
			nodes := make([]nodeKey, len(values))
			for i := range values {
				nodes[i] = nodeKey{values[i].Cluster, values[i].Node}
			}
			if gpus, err = s.models(ctx, sc, nodes); err != nil {
				return out, err
			}
		}
		list := out.compare(values, gpus, &in)
		out.verdict(list, &in)
		out.limitCohorts()
		out.Next = out.next(list, in.ClusterID)
		page, rest := part(list, in.paging, at, out)
		if out.Ranked = page; rest > 0 {
			out.NextCursor = in.next(rest, asked, out.Window)
		}
		return out, nil
	},
}

// metric returns the metric of a name. If it returns nil, there is none, and the answer says which ones exist.
func (s *Tools) metric(ctx context.Context, sc question.Scope, what string, out *outliersOut) (*question.Metric,
	error,
) {
	found, err := s.ask.Metrics(ctx, sc, what)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		m := &found[0]
		out.Unit = name(m.Unit)
		switch {
		case m.Grows():
			out.Measure = "growth a second"
		case m.Since():
			out.Measure = "mean of what came in the window"
		case m.Kind == "gauge", m.Kind == "sum":
			out.Measure = "median of points"
		default:
			out.Measure = "median of the means of points"
		}
		if len(found) > 1 {
			out.addNote("some nodes send %s as %s: they are not compared", name(what),
				strings.TrimSpace(found[1].Temporality+" "+found[1].Kind))
		}
		return m, nil
	}
	all, err := s.ask.Metrics(ctx, sc, "")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range all[:min(len(all), maxNames)] {
		names = append(names, string(name(m.Name)))
	}
	out.Verdict = data(fmt.Sprintf("nobody is compared: nobody sent %s in this window", name(what)))
	if len(names) > 0 {
		out.addNote("there are %s", strings.Join(names, ", "))
	}
	if n := len(all) - len(names); n > 0 {
		out.addNote("and %d more", n)
	}
	return nil, nil
}

// compare compares the nodes of each cohort, and returns them with the worst first. gpus are models.
func (o *outliersOut) compare(values []question.Value, gpus map[nodeKey]data, in *outliersIn) []ranked {
	side := map[worse]outlier.Worse{"lower": outlier.Lower, "higher": outlier.Higher, "both": outlier.Both}[in.Worse]
	var all []ranked
	for _, one := range cohorts(values, gpus) {
		var numbers []float64
		for _, m := range one {
			numbers = append(numbers, number(m.sent.Value))
		}
		s := outlier.Of(numbers)
		c := cohort{
			ClusterID: name(one[0].sent.Cluster), GPU: one[0].gpu, N: s.N, Median: significant(s.Median, 4),
			MAD: significant(s.MAD, 3), Floored: s.Floored,
		}
		if s.N < outlier.Fewest {
			c.Why = fmt.Sprintf("%d of them have a value; %d are needed to tell which is unlike the others", s.N,
				outlier.Fewest)
		}
		for i := range one {
			v := &one[i].sent
			if math.IsNaN(numbers[i]) {
				continue
			}
			r := ranked{
				ClusterID: name(v.Cluster), NodeID: name(v.Node), Rank: v.Rank, GPU: one[i].gpu,
				Value:  significant(numbers[i], 4),
				Sigmas: round(max(-maxSigmas, min(maxSigmas, s.Away(numbers[i], side))), 1), Points: v.Points,
				Beyond: v.Beyond, cluster: v.Cluster, node: v.Node,
			}
			if r.Outlier = c.Why == "" && s.Away(numbers[i], side) >= in.Sigmas; r.Outlier {
				c.Outliers++
			}
			all = append(all, r)
		}
		o.Cohorts = append(o.Cohorts, c)
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(order(b.Outlier), order(a.Outlier)), cmp.Compare(b.Beyond, a.Beyond),
			cmp.Compare(b.Sigmas, a.Sigmas))
	})
	return all
}

// member is a value and what its cohort has in common.
type member struct {
	sent question.Value
	gpu  data
}

// otherGPU stands for nodes that did not send their GPU's model.
const otherGPU = "not known"

// cohorts returns the values by cluster and model of GPU. In clusters with one model only, none is named.
func cohorts(values []question.Value, gpus map[nodeKey]data) [][]member {
	models := map[string]map[data]bool{}
	all := make([]member, len(values))
	for i, v := range values {
		all[i] = member{v, cmp.Or(gpus[nodeKey{v.Cluster, v.Node}], otherGPU)}
		if models[v.Cluster] == nil {
			models[v.Cluster] = map[data]bool{}
		}
		models[v.Cluster][all[i].gpu] = true
	}
	for i := range all {
		if len(models[all[i].sent.Cluster]) == 1 {
			all[i].gpu = ""
		}
	}
	byCohort := func(a, b member) int {
		return cmp.Or(cmp.Compare(a.sent.Cluster, b.sent.Cluster), cmp.Compare(a.gpu, b.gpu))
	}
	slices.SortStableFunc(all, byCohort)
	var list [][]member
	for i := range all {
		if i == 0 || byCohort(all[i-1], all[i]) != 0 {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], all[i])
	}
	return list
}

// number returns the value, or NaN if v is nil.
func number(v *float64) float64 {
	if v == nil || math.IsInf(*v, 0) {
		return math.NaN()
	}
	return *v
}

func order(b bool) int {
	if b {
		return 1
	}
	return 0
}

// maxCohorts is how many cohorts an answer describes.
const maxCohorts = 5

func (o *outliersOut) limitCohorts() {
	if n := len(o.Cohorts) - maxCohorts; n > 0 {
		slices.SortStableFunc(o.Cohorts, func(a, b cohort) int { return cmp.Compare(b.Outliers, a.Outliers) })
		o.Cohorts = o.Cohorts[:maxCohorts]
		o.addNote("%d more cohorts are compared and not described: ask for one cluster_id, or with cohort=cluster", n)
	}
}

func (o *outliersOut) verdict(list []ranked, in *outliersIn) {
	what := "nodes"
	if in.Of == "rank" {
		what = "ranks"
	}
	n, compared, byGPU := 0, 0, false
	for _, c := range o.Cohorts {
		n += c.Outliers
		byGPU = byGPU || c.GPU != ""
		if c.Why == "" {
			compared += c.N
		}
	}
	of := "the cluster"
	if byGPU {
		of = "those with the same GPU"
	}
	switch {
	case compared == 0:
		o.Verdict = data(fmt.Sprintf("no outlier is named: too few %s sent %s", what, o.Metric))
		if in.Of != "rank" {
			o.Verdict += "; of=rank compares ranks"
		}
		if byGPU {
			o.Verdict += "; cohort=cluster compares all, whatever their GPU"
		}
		return
	case n > 0:
		o.Verdict = data(fmt.Sprintf("%d of %d %s: %v sigmas or more from the median of %s, and worse", n, compared, what,
			in.Sigmas, of))
	default:
		o.Verdict = data(fmt.Sprintf("none of %d %s is %v sigmas from the median of %s and worse", compared, what,
			in.Sigmas, of))
	}
	if rest := len(list) - compared; rest > 0 {
		o.Verdict += data(fmt.Sprintf("; %d more not compared: fewer than %d are alike", rest, outlier.Fewest))
	}
}

// next returns the question that follows. cluster is the one that was asked about.
func (o *outliersOut) next(list []ranked, cluster string) []next {
	if len(list) == 0 || !list[0].Outlier && list[0].Beyond == 0 || !plain(list[0].cluster, list[0].node) {
		return []next{{
			Tool: stragglersName, Arguments: about(cluster, o.Window),
			Why: "a slow rank makes all others look alike: ask who is late",
		}}
	}
	args := about(list[0].cluster, o.Window)
	args["node_id"] = list[0].node
	return []next{{Tool: historyName, Arguments: args, Why: "what this node told in this time"}}
}
