package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// slack is the rounding error allowed in a share or a sum of shares, in percent.
const slack = 0.55

// rule finds statements of answers that cannot both be true, and describes them.
type rule struct {
	name string
	find func([]statement) []string
}

// statement is one answer: the tool, its arguments, and the fields of the JSON.
type statement struct {
	Tool   string
	Args   map[string]any
	Fields map[string]any
}

// rules are all rules that answers are checked by.
var rules = []rule{
	{"a share lies between 0 and 100 %", sharesInRange},
	{"shares of one thing add up to at most 100 %", sharesAddUp},
	{"one thing has one number", oneNumber},
	{"no more time is lost than there is", lossFits},
	{"words say what the numbers say", wordsAgree},
	{"a statement and its opposite are not both told", exclusive},
}

// contradictions are what the rules find in the answers of one recording.
func contradictions(all []statement) []string {
	found := []string{}
	for _, r := range rules {
		for _, what := range r.find(all) {
			found = append(found, r.name+": "+what)
		}
	}
	return found
}

// each calls f for every value of an answer, with the path to it.
func each(at string, v any, f func(at string, v any)) {
	f(at, v)
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			each(at+"."+k, x, f)
		}
	case []any:
		for i, x := range v {
			each(fmt.Sprintf("%s.%d", at, i), x, f)
		}
	}
}

// mayExceed are shares that may be more than 100: a step may become more than twice as fast.
var mayExceed = []string{"faster_pct"}

func sharesInRange(all []statement) (found []string) {
	for _, a := range all {
		each(a.Tool, a.Fields, func(at string, v any) {
			pct, ok := v.(float64)
			name := at[strings.LastIndex(at, ".")+1:]
			if !ok || !strings.HasSuffix(name, "_pct") || slices.Contains(mayExceed, name) {
				return
			}
			if pct < 0 || pct > 100+slack {
				found = append(found, fmt.Sprintf("%s is %v", at, pct))
			}
		})
	}
	slices.Sort(found)
	return found
}

var (
	notExplained = regexp.MustCompile(`^not explained: ([\d.]+) %`)
	culprits     = regexp.MustCompile(`^culprits: `)
	percent      = regexp.MustCompile(`([\d.]+) %`)
	ofItsTime    = regexp.MustCompile(`^.{0,40}? lost ([\d.]+) % of its time`)
)

// sharesAddUp: the explained and the unexplained shares, and the shares of the culprits of one
// finding, add up to at most 100 %.
func sharesAddUp(all []statement) (found []string) {
	for _, a := range all {
		f, ok := a.Fields["finding"].(map[string]any)
		if !ok {
			continue
		}
		sum, _ := f["explained_pct"].(float64)
		path, _ := a.Fields["path"].([]any)
		for _, v := range path {
			line, _ := v.(string)
			if m := notExplained.FindStringSubmatch(line); m != nil {
				sum += number(m[1])
			}
			if culprits.MatchString(line) {
				who := 0.0
				for _, m := range percent.FindAllStringSubmatch(line, -1) {
					who += number(m[1])
				}
				if who > 100+slack {
					found = append(found, fmt.Sprintf("%q add up to %.1f %%", line, who))
				}
			}
		}
		if sum > 100+slack {
			found = append(found, fmt.Sprintf("finding %v explains and leaves %.1f %%", f["id"], sum))
		}
	}
	return found
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0 // the expression matches "1.2.3", which no answer has
	}
	return v
}

// oneNumber: a finding is the same in each answer that shows it, and so are the calls, the window
// and the dropped records in answers about the same scope.
func oneNumber(all []statement) (found []string) {
	seen := map[string]string{}
	same := func(what string, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			return // cannot happen: it was decoded from JSON
		}
		if was, ok := seen[what]; ok && was != string(b) {
			found = append(found, fmt.Sprintf("%s is %s and %s", what, was, b))
		}
		seen[what] = string(b)
	}
	for _, a := range all {
		scope := fmt.Sprint(a.Args["since"], a.Args["pid"], a.Args["process"], a.Args["op"], a.Args["layer"], a.Args["sql"])
		for _, k := range []string{"window", "verdict"} {
			if v, ok := a.Fields[k]; ok {
				same(k+" of scope "+scope, v)
			}
		}
		if v, ok := a.Fields["calls"].(float64); ok {
			same("number of calls of scope "+scope, v)
		}
		if v, ok := a.Fields["dropped"]; ok {
			same("what was dropped", v)
		}
		for _, f := range findings(a) {
			id, _ := f["id"].(string)
			for _, k := range []string{"kind", "summary", "lost_ns", "lost_pct", "explained_pct", "culprit", "severity"} {
				if v, ok := f[k]; ok {
					same(k+" of finding "+id, v)
				}
			}
		}
	}
	return found
}

// findings are the findings in an answer: its own, or those in a list.
func findings(a statement) (list []map[string]any) {
	if f, ok := a.Fields["finding"].(map[string]any); ok {
		list = append(list, f)
	}
	chains, _ := a.Fields["chains"].([]any)
	for _, v := range chains {
		if f, ok := v.(map[string]any); ok {
			list = append(list, f)
		}
	}
	return list
}

// lossFits: a thread loses at most the window, and a step at most its duration.
func lossFits(all []statement) (found []string) {
	for _, a := range all {
		wall := windowOf(a)
		for _, f := range findings(a) {
			if lost, ok := f["lost_ns"].(float64); ok && wall > 0 && lost > wall*(1+slack/100) {
				found = append(found, fmt.Sprintf("finding %v lost %v ns of %v", f["id"], lost, wall))
			}
		}
		if s, ok := a.Fields["per_step"].(map[string]any); ok {
			now, _ := s["now_ns"].(float64)
			for _, k := range []string{"lost_ns", "without_ns"} {
				if v, _ := s[k].(float64); v > now*(1+slack/100) {
					found = append(found, fmt.Sprintf("%s of a step is %v of %v ns", k, v, now))
				}
			}
		}
		if at, ok := a.Fields["began"].(string); ok && wall > 0 {
			from, to, _ := bounds(a)
			if t, err := time.Parse(time.RFC3339Nano, at); err != nil || t.Before(from) || t.After(to) {
				found = append(found, fmt.Sprintf("the finding begins at %s, outside of %v", at, a.Fields["window"]))
			}
		}
	}
	return found
}

// windowOf is the length of an answer's window, ns; 0 if it has none.
func windowOf(a statement) float64 {
	from, to, ok := bounds(a)
	if !ok {
		return 0
	}
	return float64(to.Sub(from))
}

func bounds(a statement) (from, to time.Time, ok bool) {
	w, _ := a.Fields["window"].(string)
	begin, end, _ := strings.Cut(w, "/")
	from, err := time.Parse(time.RFC3339Nano, begin)
	if err != nil {
		return from, to, false
	}
	to, err = time.Parse(time.RFC3339Nano, end)
	return from, to, err == nil
}

// wordsAgree: the share in a summary is that of the finding, and the gain of a step fits its
// durations.
func wordsAgree(all []statement) (found []string) {
	for _, a := range all {
		for _, f := range findings(a) {
			summary, _ := f["summary"].(string)
			pct, _ := f["lost_pct"].(float64)
			if m := ofItsTime.FindStringSubmatch(summary); m != nil && math.Abs(number(m[1])-pct) > 1 {
				found = append(found, fmt.Sprintf("%q, and lost_pct is %v", summary, pct))
			}
		}
		if s, ok := a.Fields["per_step"].(map[string]any); ok {
			now, _ := s["now_ns"].(float64)
			without, _ := s["without_ns"].(float64)
			faster, _ := s["faster_pct"].(float64)
			if without > 0 && math.Abs(100*(now/without-1)-faster) > 1 {
				found = append(found, fmt.Sprintf("a step takes %v instead of %v ns, and is %v %% faster", without, now, faster))
			}
		}
	}
	return found
}

// Words that exclude each other within one answer. An answer has either a finding or the words that
// nothing is wrong. If nothing on the host held the calls up, it must not say that something did.
var (
	allIsWell = "nothing wrong:"
	noHost    = "nothing on the host held the calls up"
	onHost    = "in the same calls the thread also"
)

func exclusive(all []statement) (found []string) {
	for _, a := range all {
		verdict, _ := a.Fields["verdict"].(string)
		if _, blames := a.Fields["finding"].(map[string]any); blames && strings.HasPrefix(verdict, allIsWell) {
			found = append(found, fmt.Sprintf("%q, and there is a finding", verdict))
		}
		for _, f := range findings(a) {
			detail, _ := f["detail"].(string)
			if strings.Contains(detail, noHost) && strings.Contains(detail, onHost) {
				found = append(found, fmt.Sprintf("finding %v: %q", f["id"], detail))
			}
		}
	}
	return found
}
