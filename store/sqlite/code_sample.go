package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// codeSampleKind is what threads ran when a timer interrupted them, and where they went to sleep.
var codeSampleKind = &kind[event.CodeSample]{
	tables:     []table{{name: "code_sample", prune: "ts"}},
	rows:       func(t *store.Tables) *[]event.CodeSample { return &t.CodeSamples },
	statements: []string{"insert into code_sample values (" + values(6) + ")"},
	insert: func(w *Writer, s []*boundStmt, c *event.CodeSample) error {
		w.session.count(c.At, c.At, 0)
		b := s[0]
		b.set(2, w.threads.get(c.Thread, c.Comm, c.At).id)
		b.opt(3, int64(c.Op))
		syscallOrNull(b, 4, c.Syscall)
		b.opt(5, w.stackID(c.Stack))
		b.flag(6, c.Waits)
		_, err := b.runAt(c.At)
		return err
	},
	query: "select ts, thread, op, syscall, stack, waits from code_sample where ts between ? and ? order by ts",
	scan: func(ctx context.Context, r *Reader, s *sqlite.Stmt) (event.CodeSample, error) {
		c := event.CodeSample{
			At: number(s, 0), Op: event.Op(s.ColumnInt64(2)), Syscall: syscallOf(s, 3), Waits: s.ColumnInt64(5) != 0,
		}
		t, err := r.thread(ctx, s.ColumnInt64(1))
		if err != nil {
			return c, err
		}
		c.Thread, c.Comm = t.Thread, t.Comm
		c.Stack, err = r.stackHash(ctx, s.ColumnInt64(4))
		return c, err
	},
	view: `-- What threads ran when a timer interrupted them, about every 20 ms of a CPU: those that make CUDA calls while
-- they make none for a millisecond, and in system calls; others that such a thread has waited for. If waits is 1, it
-- went to sleep there, in a system call in which it had slept for a millisecond or more before. stack_hash is that
-- of stack_frames: functions, without the places of calls in them.
create view code_samples as
select c.ts as timestamp, s.node, t.pid, t.tid, t.comm, o.name as op,
  case when c.syscall is null then null
    else coalesce((select y.name from syscall_name y where y.arch = s.arch and y.id = c.syscall),
      cast(c.syscall as text)) end as syscall,
  coalesce(k.hash, 0) as stack_hash, coalesce(c.waits, 0) as waits
from code_sample c left join thread t on t.id = c.thread left join session s on s.id = t.session
left join op_name o on o.id = c.op left join stack k on k.id = c.stack;`,
}
