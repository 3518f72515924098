package storetest

import (
	"fmt"
	"strings"
)

// nested returns a text between n others on each side.
func nested(n int, before, in, after string) string {
	return strings.Repeat(before, n) + in + strings.Repeat(after, n)
}

// listed returns n items, separated by commas. In each %d is its number, from 0 on, and %[2]d the next one.
func listed(n int, format string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.NewReplacer("%d", fmt.Sprint(i), "%[1]d", fmt.Sprint(i), "%[2]d", fmt.Sprint(i+1)).Replace(format)
	}
	return strings.Join(list, ", ")
}

// chained returns a statement with WITHs, of which each is made of the one before, whose number is in the format.
func chained(n int, first, format string) string {
	list := make([]string, n+1)
	list[0] = "a0 AS (" + first + ")"
	for i := range n {
		list[i+1] = fmt.Sprintf("a%d AS (%s)", i+1, fmt.Sprintf(format, i))
	}
	return fmt.Sprintf("WITH %s SELECT count(*) FROM a%d", strings.Join(list, ", "), n)
}

// severalWiths is a question of several steps.
const severalWiths = `with base as (select *, timestamp_ns // 60000000000 as minute from events),
	slow as (select * from base where value < 50), fast as (select * from base where value >= 50),
	slow_minutes as (select node_id, minute, count(*) as n, avg(value) as mean from slow group by all),
	fast_minutes as (select node_id, minute, count(*) as n from fast group by all),
	shares as (select s.node_id, s.minute, s.n + f.n as total, s.n / total as share, mean
		from slow_minutes s join fast_minutes f using (node_id, minute))
	select node_id, max(share) as worst, worst * 100 as pct, (select avg(share) from shares) as usual
	from shares where share > 0.1 group by node_id having pct > 0 order by pct desc`
