package nodes_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/serve/nodes"
)

// generator writes statements that can be put together.
type generator struct{ *rand.Rand }

func (g generator) one(list ...string) string { return list[g.IntN(len(list))] }

func (g generator) key() string {
	return g.one("op", "e.op", "source", "duration_ns > 30000", "duration_ns/20000", "upper( op )",
		"case when op = 'cudaLaunchKernel' then 'l' else 's' end", "null")
}

func (g generator) aggregate() string {
	arg := g.one("duration_ns", "duration", "e.duration_ns / 1000", "nullif(duration_ns % 3, 0)", "duration_ns * 0.5",
		"case when duration_ns < 0 then 1 end")
	return g.one("count(*)", "COUNT("+arg+")", "sum("+arg+")", "total("+arg+")", "min("+arg+")", "max( "+arg+" )",
		"avg("+arg+")")
}

func (g generator) expression() string {
	a, b := g.aggregate(), g.aggregate()
	return g.one(a, a+" / 3", "round("+a+", 2)", a+" - "+b, "coalesce("+a+", -1)", "max("+a+", "+b+")",
		"case when "+a+" > 10 then "+b+" else 'few' end")
}

// statement writes one whose rows are in a known order.
func (g generator) statement() string {
	var columns, by []string
	for i := range g.IntN(3) {
		k := g.key()
		columns = append(columns, fmt.Sprintf("%s as k%d", k, i))
		by = append(by, g.one(k, fmt.Sprint(i+1), fmt.Sprintf("k%d", i)))
	}
	for i := range 1 + g.IntN(3) {
		columns = append(columns, fmt.Sprintf("%s %s x%d", g.expression(), g.one("as", ""), i))
	}
	sql := "select " + strings.Join(columns, ", ") + " from events e where source = 1 and duration_ns > " +
		fmt.Sprint(1000*g.IntN(80))
	if by != nil {
		sql += " group by " + strings.Join(by, ", ")
	}
	if by != nil && g.IntN(2) == 0 {
		sql += " having " + g.aggregate() + " > " + fmt.Sprint(g.IntN(20))
	}
	var order []string
	for _, i := range g.Perm(len(columns)) {
		order = append(order, fmt.Sprint(i+1)+g.one("", " desc", " asc nulls last"))
	}
	if g.IntN(2) == 0 && by != nil {
		order = append([]string{g.aggregate() + " desc"}, order...)
	}
	sql += " order by " + strings.Join(order, ", ")
	if g.IntN(2) == 0 {
		sql += g.one(" limit 2", " limit 3 offset 1", " limit 1, 2")
	}
	return sql
}

// TestThreeNodesAnswerAsOneRecordingOfAll holds what is made of three nodes' answers against
// a recording that has all of their calls.
func TestThreeNodesAnswerAsOneRecordingOfAll(t *testing.T) {
	sets := []launches{{24, 1}, {20, 61}, {0, 0}, {37, 11}}
	all := recordedAll(t, "all", sets...)
	var addresses []string
	for _, s := range sets {
		addresses = append(addresses, recordedAll(t, "node", s))
	}
	g := generator{rand.New(rand.NewPCG(7, 7))}
	for range 40 {
		sql := g.statement()
		want, err := direct(t, all, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if n := nodes.Note(sql); n != "" {
			t.Errorf("%s: %s", sql, n)
			continue
		}
		var answers []wire.Rows
		for _, path := range addresses {
			a, err := direct(t, path, nodes.NodeSQL(sql))
			if err != nil {
				t.Fatalf("%s\nbecame %s: %v", sql, nodes.NodeSQL(sql), err)
			}
			answers = append(answers, a)
		}
		got, err := nodes.Finish(t.Context(), sql, answers...)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if g, w := rounded(got), rounded(want.Rows); g != w {
			t.Errorf("%s\nas %s:\n got %s\nwant %s", sql, nodes.NodeSQL(sql), g, w)
		}
	}
}

// TestNoTextMakesThePlannerPanic plans statements that are broken in many ways; none may panic.
func TestNoTextMakesThePlannerPanic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const marks = " (),.'\"[`*+-/=<>|1;%e"
	for range 20_000 {
		s := statements[r.IntN(len(statements))].sql
		for range r.IntN(6) {
			at, other := r.IntN(len(s)+1), statements[r.IntN(len(statements))].sql
			switch r.IntN(4) {
			case 0:
				s = s[:at]
			case 1:
				s = s[:at] + string([]byte{byte(r.IntN(256))}) + s[at:]
			case 2:
				s = s[:at] + other[r.IntN(len(other)):]
			case 3:
				s = s[:at] + string(marks[r.IntN(len(marks))]) + s[at:]
			}
		}
		nodes.NodeSQL(s)
	}
}
