import { Answer } from "../components/answer";
import { Series } from "../components/series";
import { Table, type Column } from "../components/table";
import { clock } from "../format";
import { href } from "../route";
import { useSQL, useWhere } from "../sql";
import { State } from "../state";

/** The ranks' collective operations: who was late, and who waited. */
export function NCCL() {
  const where = useWhere();
  return <State of={where}>{where.value && <Shown where={where.value()} arrived={where.value("first_queued", "")} />}</State>;
}

function Shown(props: { where: string; arrived: string }) {
  const n = useSQL<[number]>(`select count(*) from collectives where ${props.where}`);
  return (
    <State of={n}>
      <h1>Collectives</h1>
      {n.value?.[0]?.[0] ? <Operations {...props} /> : <None />}
    </State>
  );
}

function None() {
  return (
    <p class="empty">
      No collective operation of NCCL was recorded. <code>ingero trace</code> records them of every process that loads libnccl; ranks of other machines come in by{" "}
      <code>ingero merge</code>.
    </p>
  );
}

function Operations(props: { where: string; arrived: string }) {
  const { where, arrived } = props;
  return (
    <>
      <div class="charts">
        <Series title="how late the last rank was, by rank" unit="duration" of={{ view: "collective_arrivals", where: arrived, name: "'rank ' || last_rank", column: "late_ns", time: "first_queued" }} />
        <Series title="from queueing to its end, by rank" unit="duration" of={{ view: "collectives", where, name: "'rank ' || rank", column: "barrier_wait_ns" }} />
      </div>
      <Answer
        title="Who was last"
        sql={`select communicator, last_rank, last_pid, count(*), sum(late_ns), avg(late_ns), max(late_ns) from collective_arrivals where ${arrived} group by 1, 2, 3 order by 5 desc limit 64`}
        columns={[["communicator", "code"], ["rank", "number"], ["pid", "code"], ["times last", "number"], ["late in all", "duration"], ["mean", "duration"], ["longest", "duration"]]}
        none="Of each operation only one rank was recorded: ingero merge puts the ranks' recordings together."
      />
      <Latest where={arrived} />
      <Answer
        title="Communicators"
        sql={`select communicator, max(ranks), count(distinct rank), count(distinct pid), min(seq), max(seq), count(*), sum(bytes) from collectives where ${where} group by 1 order by 7 desc limit 64`}
        columns={[["communicator", "code"], ["ranks", "number"], ["recorded", "number"], ["processes", "number"], ["first", "number"], ["last", "number"], ["operations", "number"], ["bytes", "bytes"]]}
      />
      <Answer
        title="Ranks"
        sql={`select communicator, rank, comm, pid, count(*), avg(exit - enter), avg(barrier_wait_ns), max(barrier_wait_ns), sum(ret_code <> 0) from collectives where ${where} group by communicator, rank, pid order by 1, 2 limit 256`}
        columns={[["communicator", "code"], ["rank", "number"], ["process"], ["pid", "code"], ["operations", "number"], ["mean call", "duration"], ["mean wait", "duration"], ["longest wait", "duration"], ["failed", "number"]]}
      />
      <Answer
        title="Operations"
        sql={`select op, datatype, reduce_op, count(*), sum(bytes), avg(bytes), avg(barrier_wait_ns), max(barrier_wait_ns) from collectives where ${where} group by 1, 2, 3 order by 4 desc limit 64`}
        columns={[["operation", "code"], ["type", "code"], ["reduction", "code"], ["times", "number"], ["in all", "bytes"], ["each", "bytes"], ["mean wait", "duration"], ["longest wait", "duration"]]}
      />
    </>
  );
}

type Arrival = [first: number, communicator: string, seq: number, op: string, seen: number, ranks: number | null, rank: number, pid: number, late_ns: number, wait_ns: number | null];

const columns: Column<Arrival>[] = [
  { title: "at", of: (a) => a[0], kind: "time", show: (a) => <a href={href("timeline", around(a))}>{clock(a[0])}</a> },
  { title: "communicator", of: (a) => a[1], kind: "code" },
  { title: "number", of: (a) => a[2], kind: "number" },
  { title: "operation", of: (a) => a[3], kind: "code" },
  { title: "ranks seen", of: (a) => (a[5] ? `${a[4]} of ${a[5]}` : a[4]) },
  { title: "last rank", of: (a) => a[6], kind: "number" },
  { title: "pid", of: (a) => a[7], kind: "code" },
  { title: "late", of: (a) => a[8], kind: "duration" },
  { title: "longest wait", of: (a) => a[9], kind: "duration" },
];

function around(a: Arrival) {
  const ns = Math.max(a[9] ?? 0, a[8], 1e6);
  return { from: Math.floor(a[0] - ns / 4), to: Math.ceil(a[0] + 1.5 * ns), since: null };
}

/** The operations whose last rank was latest. */
function Latest(props: { where: string }) {
  const sql = `select first_queued, communicator, seq, op, ranks_seen, ranks, last_rank, last_pid, late_ns, longest_wait_ns from collective_arrivals where ${props.where} order by late_ns desc limit 100`;
  const found = useSQL<Arrival>(sql, 100);
  if (!found.value?.length) return null;
  return (
    <section>
      <h2>Operations whose last rank came latest</h2>
      <Table rows={found.value} columns={columns} caption="latest first" first={10} />
    </section>
  );
}
