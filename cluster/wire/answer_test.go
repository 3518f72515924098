package wire_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ingero-io/ingero/cluster/health"
	"github.com/ingero-io/ingero/cluster/wire"
)

// forms are the ways to send an answer.
var forms = map[string]func(wire.Answer) (wire.Answer, error){
	"HTTP": func(a wire.Answer) (wire.Answer, error) {
		h := map[string][]string{}
		if err := a.SetHTTP(h); err != nil {
			return a, err
		}
		return wire.AnswerOfHTTP(h)
	},
	"gRPC": func(a wire.Answer) (wire.Answer, error) {
		md := map[string][]string{}
		if err := a.SetGRPC(md); err != nil {
			return a, err
		}
		return wire.AnswerOfGRPC(md)
	},
	"JSON": func(a wire.Answer) (wire.Answer, error) {
		b, err := wire.FormatAnswer(a)
		if err != nil {
			return a, err
		}
		return wire.ParseAnswer(b)
	},
}

func TestAnyAnswerComesBack(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for name, there := range forms {
		for range 200 {
			a := wire.Answer{Threshold: 0.1 + 0.89*random.Float64(), Quorum: random.IntN(2) == 0}
			switch random.IntN(4) {
			case 0:
				a.Threshold, a.Quorum = math.NaN(), false
			case 1:
				a.Threshold = []float64{0.1, 0.99}[random.IntN(2)]
			}
			if random.IntN(3) > 0 {
				a.Reply = anyReply(random)
			}
			got, err := there(a)
			if d := cmp.Diff(a, got, cmpopts.EquateNaNs()); err != nil || d != "" {
				t.Fatal(name, err, d)
			}
		}
	}
}

func TestThresholdIsAPairInRange(t *testing.T) {
	for _, c := range []struct {
		threshold, quorum string
		want              bool
	}{
		{"0.88", "true", true},
		{"0.1", "false", true},
		{"0.99", "true", true},
		{"0.0999", "true", false},
		{"0.991", "true", false},
		{"-0.5", "true", false},
		{"NaN", "true", false},
		{"Inf", "true", false},
		{"1e999", "true", false},
		{"0.88x", "true", false},
		{"0." + strings.Repeat("8", 100), "true", false},
		{"0.88", "", false},
		{"", "true", false},
		{"0.88", "yes", false},
		{"0.88", "TRUE", false},
	} {
		set := func(names ...string) map[string][]string {
			h := map[string][]string{}
			for i, v := range []string{c.threshold, c.quorum} {
				if v != "" {
					h[names[i]] = []string{v, "another"}
				}
			}
			return h
		}
		over, err := wire.AnswerOfHTTP(set("X-Ingero-Threshold", "X-Ingero-Quorum-Met"))
		if got := !math.IsNaN(over.Threshold); got != c.want || err != nil || got && over.Quorum != (c.quorum == "true") {
			t.Errorf("HTTP %q %q: %+v %v", c.threshold, c.quorum, over, err)
		}
		over, err = wire.AnswerOfGRPC(set("ingero-threshold", "ingero-quorum-met"))
		if got := !math.IsNaN(over.Threshold); got != c.want || err != nil {
			t.Errorf("gRPC %q %q: %+v %v", c.threshold, c.quorum, over, err)
		}
	}
	h := map[string][]string{"X-Ingero-Threshold": {"0.5"}, "X-Ingero-Reply": {"old"}, "Date": {"now"}}
	if err := (wire.Answer{Threshold: 1.5}).SetHTTP(h); err != nil || len(h) != 1 {
		t.Errorf("what an answer does not have is removed: %v %v", h, err)
	}
}

func TestAnswerTo(t *testing.T) {
	if a := wire.AnswerTo(nil); !math.IsNaN(a.Threshold) || a.Reply != nil {
		t.Errorf("of nothing: %+v", a)
	}
	r := sound()
	if a := wire.AnswerTo(r); math.Abs(a.Threshold-1/1.1) > 1e-9 || !a.Quorum || a.Reply != r {
		t.Errorf("%+v", a)
	}
	r.Buckets = nil
	if a := wire.AnswerTo(r); a.Quorum {
		t.Errorf("without a bucket: %+v", a)
	}
}

func TestLongestReply(t *testing.T) {
	r := &health.Reply{
		Width: health.MaxWidth, Merge: health.MaxMerge, Reference: 1,
		Size: health.MaxCohortRanks, Live: health.MaxCohortRanks,
	}
	for i := range uint64(health.Kept) {
		r.Buckets = append(r.Buckets, health.Summary{Position: (i + 1) << 58, N: health.MaxCohortRanks, Sigma: 1})
	}
	text, err := wire.FormatReply(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.ParseReply(text)
	if d := cmp.Diff(r, got); err != nil || d != "" {
		t.Error(err, d)
	}
	b, err := wire.FormatAnswer(wire.AnswerTo(r))
	if err != nil || len(b) > wire.MaxAnswer {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestUnacceptableReply(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		why    string
		change func(r *health.Reply)
	}{
		{"reply.width: is 0; from 1 to 512", func(r *health.Reply) { r.Width = 0 }},
		{"reply.merge: is 65; from 1 to 64", func(r *health.Reply) { r.Merge = 65 }},
		{"reply.size: is 4294967295; 16384 at most", func(r *health.Reply) { r.Size = math.MaxUint32 }},
		{"reply.live: is 16385; 16384 at most", func(r *health.Reply) { r.Live = 16385 }},
		{"reply.buckets: are 17; 16 at most", func(r *health.Reply) { r.Buckets = make([]health.Summary, 17) }},
		{"reply.buckets[1].middle: is not finite", func(r *health.Reply) { r.Buckets[1].Hi = inf }},
		{"reply.buckets[1].middle: is not in order", func(r *health.Reply) { r.Buckets[1].Lo = 0 }},
		{"reply.buckets[1].middle: is of no number of ranks", func(r *health.Reply) { r.Buckets[1].N = 0 }},
		{"reply.buckets[1].middle: is of no position", func(r *health.Reply) { r.Buckets[1].Position = math.MaxUint64 }},
		{"reply.buckets[2].position: is not after the one before", func(r *health.Reply) { r.Buckets[2].Position = r.Buckets[1].Position }},
	} {
		r := sound()
		c.change(r)
		h := map[string][]string{}
		if err := wire.AnswerTo(r).SetHTTP(h); err == nil || err.Error() != c.why || len(h) != 2 {
			t.Errorf("%v %v\nwant %s", h, err, c.why)
		}
		if _, err := wire.FormatAnswer(wire.AnswerTo(r)); err == nil || err.Error() != c.why {
			t.Errorf("%v\nwant %s", err, c.why)
		}
	}
	const head = "01" + "00" + "03" + "01" + "00000000" + "08" + "08"
	const bucket = "03" + "000080bf" + "000080bf" + "000080bf" + "00000000"
	for _, c := range []struct {
		reply string
		fault wire.Fault
		why   string
	}{
		{"", wire.Malformed, "version: is truncated"},
		{"7f", wire.Version, "version: is 127, which is newer than 1, the only one known here"},
		{"0102", wire.Value, "flags: has bits that are not known: 0x2"},
		{"0100" + "00", wire.Value, "width: is 0; from 1 to 512"},
		{"0100" + "03" + "41", wire.Value, "merge: is 65; from 1 to 64"},
		{"0100" + "03" + "01" + "0000807f", wire.Value, "reference: is not finite"},
		{head + "11", wire.Limit, "buckets: are 17; 16 at most"},
		{head + "01", wire.Malformed, "buckets[0].position: is truncated"},
		{head + "01" + "05" + bucket + "00", wire.Malformed, "end: 1 bytes too many"},
		{head + "02" + "05" + bucket + "00" + bucket, wire.Value, "buckets[1].position: is not after the one before"},
		{head + "02" + "05" + bucket + "ffffffffffffffffff01" + bucket, wire.Value, "buckets[1].position: is 18446744073709551615; from 0 to 4611686018427387899"},
		{head + "01" + "05" + "00", wire.Value, "buckets[0].n: is 0; from 1 to 16384"},
		{head + "01" + "05" + "03" + "000080bf" + "0000c07f", wire.Value, "buckets[0].mid: is not finite"},
	} {
		b, err := hex.DecodeString(c.reply)
		if err != nil {
			t.Fatal(err)
		}
		_, err = wire.ParseReply(base64.RawURLEncoding.EncodeToString(b))
		if err == nil || err.Error() != c.why || fault(err) != c.fault {
			t.Errorf("%s:\n got %v\nwant %s", c.reply, err, c.why)
		}
	}
	for text, why := range map[string]string{
		"AQ==": "reply: is not base64 without padding", "a b": "reply: is not base64 without padding", "AR": "reply: is not base64 without padding",
		strings.Repeat("A", 769): "reply: has 769 bytes; 768 at most",
	} {
		h := map[string][]string{"X-Ingero-Reply": {text}, "X-Ingero-Threshold": {"0.5"}, "X-Ingero-Quorum-Met": {"true"}}
		if a, err := wire.AnswerOfHTTP(h); err == nil || err.Error() != why || a.Reply != nil || a.Threshold != 0.5 {
			t.Errorf("%+v %v", a, err)
		}
	}
}

func TestPollComesBack(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		p := wire.Poll{Cluster: []string{"", "a&b=c", "é ü", strings.Repeat("c", 256)}[random.IntN(4)]}
		if random.IntN(4) > 0 {
			p.Node = []string{"n", "gpu 1;x", strings.Repeat("n", 256)}[random.IntN(3)]
			p.Health = health.Poll{
				Cohort: 1 + random.Uint64()/2, Node: wire.Node(p.Node), Rank: random.Int32N(1 << 20),
				State: health.State(random.IntN(5)),
			}
		}
		got, err := wire.ParsePoll(p.Query())
		if d := cmp.Diff(p, got); err != nil || d != "" {
			t.Fatal(err, d)
		}
	}
}

func TestUnacceptablePoll(t *testing.T) {
	const cohort, node = "cohort=00000000000000ff", "&node=n"
	for query, why := range map[string]string{
		"%zz":                              "it is not the query of a URL",
		strings.Repeat("a", 2049):          "the query has 2049 bytes; 2048 at most",
		"cluster_id=%00":                   "cluster_id: has the character U+0000, which is not printable",
		"cohort=ff&node=n":                 "cohort: is not of 16 hexadecimal digits",
		"cohort=&node=n":                   "cohort: is not of 16 hexadecimal digits",
		"cohort=0000000000000000&node=n":   "cohort: is 0, which is none",
		"cohort=%2b0000000000000ff&node=n": "cohort: is not of 16 hexadecimal digits",
		cohort:                             "node: is missing",
		cohort + "&node=%ff":               "node: is not UTF-8",
		cohort + node:                      "rank: is not a whole number from 0 to 1048575",
		cohort + node + "&rank=-1":         "rank: is not a whole number from 0 to 1048575",
		cohort + node + "&rank=1048576":    "rank: is not a whole number from 0 to 1048575",
		cohort + node + "&rank=1":          "state: is none",
		cohort + node + "&rank=1&state=x":  "state: is none",
	} {
		if _, err := wire.ParsePoll(query); err == nil || err.Error() != why {
			t.Errorf("%q: %v\nwant %s", query, err, why)
		}
	}
	p, err := wire.ParsePoll("cluster_id=c&unheard=of&node=\x00")
	if err != nil || p != (wire.Poll{Cluster: "c"}) {
		t.Errorf("an earlier agent's: %+v %v", p, err)
	}
}

func TestAnswersOfOtherFleets(t *testing.T) {
	for text, want := range map[string]float64{
		`{"threshold":0.88,"quorum_met":true}`:              0.88,
		`{"threshold":0.88,"quorum_met":false,"more":[1]}`:  0.88,
		`{"threshold":0.88}`:                                0,
		`{"quorum_met":true}`:                               0,
		`{"threshold":1,"quorum_met":true}`:                 0,
		`{"threshold":null,"quorum_met":null,"reply":null}`: 0,
		`{}`:   0,
		`null`: 0,
		"  {\"threshold\": 0.5,\n \"quorum_met\": true}\n\t ":    0.5,
		`{"threshold":0.88,"quorum_met":true,"threshold":0.111}`: 0.111,
	} {
		a, err := wire.ParseAnswer([]byte(text))
		if got := a.Threshold; err != nil || a.Reply != nil || want == 0 != math.IsNaN(got) || want != 0 && got != want {
			t.Errorf("%s: %+v %v", text, a, err)
		}
	}
	for text, why := range map[string]string{
		"":                        "the answer is not JSON of the form that is expected",
		`{"threshold":"0.88"}`:    "the answer is not JSON of the form that is expected",
		`{"threshold":1e999}`:     "the answer is not JSON of the form that is expected",
		`{} {}`:                   "the answer is not JSON of the form that is expected",
		`<html>`:                  "the answer is not JSON of the form that is expected",
		`{"reply":"Ag"}`:          "reply.version: is 2, which is newer than 1, the only one known here",
		strings.Repeat(" ", 8193): "the answer has 8193 bytes; 8192 at most",
	} {
		if _, err := wire.ParseAnswer([]byte(text)); err == nil || err.Error() != why {
			t.Errorf("%q: %v\nwant %s", text, err, why)
		}
	}
}

// TestFormOfAnswer: agents and fleets of different versions meet.
func TestFormOfAnswer(t *testing.T) {
	a := wire.AnswerTo(sound())
	http, grpc := map[string][]string{}, map[string][]string{}
	body, err := wire.FormatAnswer(a)
	if err != nil || a.SetHTTP(http) != nil || a.SetGRPC(grpc) != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, h := range []map[string][]string{http, grpc} {
		lines := []string{}
		for name, v := range h {
			lines = append(lines, fmt.Sprintf("%s: %s\n", name, v[0]))
		}
		slices.Sort(lines)
		out.WriteString(strings.Join(lines, "") + "\n")
	}
	out.Write(body)
	p := wire.Poll{Cluster: "research-east-1", Node: "gpu-node-0017", Health: health.Poll{
		Cohort: 255, Node: wire.Node("gpu-node-0017"), Rank: 137, State: health.Suspect,
	}}
	out.WriteString("\n" + wire.PollPath + "?" + p.Query() + "\n" + wire.PollPath + "?" + (&wire.Poll{Cluster: "c"}).Query() + "\n")
	golden(t, "answer.txt", []byte(out.String()))
}
