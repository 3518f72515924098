package reports

import "github.com/ingero-io/ingero/event"

// final are cases that are looked at only at the end. Nobody reads what was said of them while a diagnosis is improved.
var final = []Case{
	{
		Name: "stop-strings", file: "R38_stop_strings.py", gpu: "kernel.default=100us", Final: true,
		Truth: Truth{Kinds: []string{event.CauseOwnCode}, Words: []string{"has_stop_string|detokenize|piece"}},
	},
	{
		Name: "polling-thread", file: "R39_polling_thread.py", torch: true, needs: 2, Final: true,
		Truth: Truth{Who: "output-poller|poll_outputs", Words: []string{"GIL|take_gil|interpreter"}},
	},
	{
		Name: "graph-each-token", file: "R40_graph_each_token.c", gpu: "kernel.default=10us;alloc=900us", Final: true,
		Truth: Truth{Kinds: []string{event.CauseGraphRecapture}, Words: []string{"captur|cudaGraphInstantiate"}},
	},
	{
		Name: "host-function", file: "R41_host_function.c", gpu: "kernel.default=100us", Final: true,
		Truth: Truth{Words: []string{"cudaLaunchHostFunc|host function|callback|evict_rows"}},
	},
	{
		Name: "sleep-in-hook", file: "R43_sleep_in_hook.py", torch: true, Final: true,
		Truth: Truth{Words: []string{sleeps + "|before_train_epoch"}},
	},
	{
		Name: "starved-helper", file: "R45_starved_helper.c", gpu: "kernel.default=100us", beside: []string{"build"},
		needs: 2, Final: true,
		Truth: Truth{
			Kinds: []string{event.CauseCPUContention}, Who: "cc-build",
			Words: []string{"sh_queue|compile_variant"},
		},
	},
	{
		Name: "embedding-table", file: "R51_embedding_table.c", gpu: fast, needs: 2, Final: true,
		Truth: Truth{Words: []string{
			"copy.on.write|page.?fault|minor fault|wp_page|\\bCOW\\b", "fork|snapshot|clone|child",
		}},
	},
	{
		Name: "message-ring", file: "R55_message_ring.py", needs: 2, Final: true,
		Truth: Truth{Words: []string{"acquire_read|sched_yield", "sched_yield|spin|busy.?wait|polls|polling"}},
	},
	{
		Name: "ready-queue", file: "R57_ready_queue.c", gpu: "kernel.default=100us", needs: 2, Final: true,
		Truth: Truth{Words: []string{
			"wait_until_ready|cond_timedwait|cond_clockwait|condition",
			"time.?out|timed.?out|expire|nobody (wakes|woke|signal)|not woken|missed|lost wake",
		}},
	},
}
