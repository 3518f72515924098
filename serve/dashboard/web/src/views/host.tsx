import { useGet } from "../api";
import { Answer } from "../components/answer";
import { Fact, Facts } from "../components/facts";
import { Losses } from "../components/losses";
import { Series } from "../components/series";
import { Table, type Column } from "../components/table";
import { moment } from "../format";
import { scope } from "../route";
import { useWhere } from "../sql";
import { State } from "../state";
import type { Process, Processes as ProcessList, Recording } from "../wire";

/** The machine, its processes, and their footprints. */
export function Host() {
  const where = useWhere();
  return <State of={where}>{where.value && <Shown where={where.value()} machine={where.value("timestamp", "")} whole={where.value("")} culprits={where.value("o.timestamp", "o.pid")} />}</State>;
}

function Shown(props: { where: string; machine: string; whole: string; culprits: string }) {
  const { where, machine, whole, culprits } = props;
  const recording = useGet<Recording>("recording", {}).value;
  return (
    <>
      <h1>Host</h1>
      {recording && <Machine of={recording} />}
      <div class="charts">
        <Series title="CPUs in use" unit="percent" of={{ view: "system_snapshots", where: machine, name: "'in use'", column: "cpu_pct" }} />
        <Series title="load" unit="number" of={{ view: "system_snapshots", where: machine, name: "'load'", column: "load_avg" }} />
        <Series title="some tasks waited for a CPU" unit="percent" of={{ view: "system_snapshots", where: machine, name: "'CPU'", column: "psi_cpu_pct" }} />
        <Series title="some tasks waited for a disk" unit="percent" of={{ view: "system_snapshots", where: machine, name: "'disk'", column: "psi_io_pct" }} />
      </div>
      <Processes whole={whole} />
      <Neighbours where={where} culprits={culprits} />
      <Footprint whole={whole} />
    </>
  );
}

function Machine(props: { of: Recording }) {
  const s = props.of.sessions.at(-1);
  return (
    <>
      <Facts>
        <Fact name="node">{props.of.node}</Fact>
        {s && <Fact name="system">{[s.host, s.arch, s.kernel && `Linux ${s.kernel}`, s.cpus > 0 && `${s.cpus} CPUs`].filter(Boolean).join(", ")}</Fact>}
        <Fact name="recorded by">Ingero {s?.version ?? "?"}</Fact>
        <Fact name="sessions">{props.of.sessions.map((e) => moment(e.started_ns)).join(", ")}</Fact>
        <Fact name="file">
          <code>{props.of.db}</code>
        </Fact>
      </Facts>
      <Losses lost={props.of.lost} />
    </>
  );
}

const columns: Column<Process>[] = [
  { title: "pid", of: (p) => p.pid, kind: "code" },
  { title: "parent", of: (p) => p.parent_pid || null, kind: "code" },
  { title: "name", of: (p) => p.name },
  { title: "", of: (p) => (p.traced ? "traced" : "seen") },
  { title: "rank", of: (p) => (p.rank < 0 ? null : p.world_size > 0 ? `${p.rank} of ${p.world_size}` : p.rank) },
  { title: "threads", of: (p) => p.threads.length, kind: "number" },
  { title: "that make calls", of: (p) => p.threads.filter((t) => t.dispatch).map((t) => `${t.name} ${t.tid}`).join(", ") },
  { title: "command", of: (p) => p.command, kind: "code" },
];

function Processes(props: { whole: string }) {
  const { pid } = scope.value;
  const found = useGet<ProcessList>("processes", pid ? { pid } : {});
  const list = found.value?.processes.toSorted((a, b) => Number(b.traced) - Number(a.traced) || a.pid - b.pid);
  return (
    <section>
      <h2>Processes</h2>
      <State of={found}>{list && <Table rows={list} columns={columns} caption="traced ones first" id={(p) => p.pid} />}</State>
      <Answer
        title="Whose they are"
        needs="processes.pod"
        sql={`select pid, name, namespace, pod, pod_container, container, slurm_job, unit, cgroup from processes where ${props.whole} and coalesce(pod, container, slurm_job, unit, cgroup, '') <> '' order by pid`}
        columns={[["pid", "code"], ["name"], ["namespace"], ["pod"], ["container"], ["its id", "code"], ["Slurm job"], ["unit"], ["control group", "code"]]}
      />
    </section>
  );
}

/** What took the traced threads' CPUs, and their use of block devices and TCP. */
function Neighbours(props: { where: string; culprits: string }) {
  return (
    <>
      <Answer
        title="Who had the CPU while they could have run"
        sql={`select o.culprit_comm, o.culprit_pid, o.comm, count(*), sum(o.culprit_ns), max(o.culprit_ns) from off_cpu o where ${props.culprits} and o.culprit_tid is not null group by 1, 2, 3 order by 5 desc limit 50`}
        columns={[["process"], ["pid", "code"], ["instead of"], ["times", "number"], ["in all", "duration"], ["longest", "duration"]]}
      />
      <Answer
        title="Block devices"
        sql={`select device, comm, op, sum(requests), sum(bytes), sum(queue_ns), sum(device_ns), max(max_ns), sum(errors) from io_seconds where ${props.where} group by 1, 2, 3 order by 6 + 7 desc limit 50`}
        columns={[["device", "code"], ["process"], ["operation", "code"], ["requests", "number"], ["bytes", "bytes"], ["queued", "duration"], ["in the device", "duration"], ["longest", "duration"], ["errors", "number"]]}
      />
      <Answer
        title="TCP"
        sql={`select comm, op, remote, remote_port, count(*), max(retransmits), max(rtt_us) * 1000, error from tcp_events where ${props.where} group by 1, 2, 3, 4, 8 order by 5 desc limit 50`}
        columns={[["process"], ["what", "code"], ["remote", "code"], ["port", "code"], ["times", "number"], ["retransmits", "number"], ["round trip", "duration"], ["error"]]}
      />
    </>
  );
}

/** System calls of processes, and the files and sockets that they used. */
function Footprint(props: { whole: string }) {
  const none = <>The footprint of no process was taken; <code>ingero trace --footprint -- COMMAND</code> takes it.</>;
  return (
    <>
      <Answer
        title="Footprint"
        sql={`select comm, pid, parent_pid, cpu_ns, user_ns, kernel_ns, timestamp, ended from footprints where ${props.whole} order by cpu_ns desc limit 200`}
        columns={[["process"], ["pid", "code"], ["parent", "code"], ["on a CPU", "duration"], ["user", "duration"], ["kernel", "duration"], ["from", "time"], ["ended", "time"]]}
        none={none}
      />
      <Answer
        title="System calls"
        sql={`select comm, pid, syscall, sum(calls), sum(total_ns), sum(cpu_ns), max(max_ns), sum(errors) from syscalls where ${props.whole} group by pid, syscall order by 5 desc limit 200`}
        columns={[["process"], ["pid", "code"], ["call", "code"], ["calls", "number"], ["in all", "duration"], ["on a CPU", "duration"], ["longest", "duration"], ["errors", "number"]]}
      />
      <Answer
        title="Files"
        sql={`select comm, pid, kind, path, opens, reads, read_bytes, writes, write_bytes, errors from files where ${props.whole} order by read_bytes + write_bytes desc, opens desc limit 200`}
        columns={[["process"], ["pid", "code"], ["kind"], ["path", "code"], ["opened", "number"], ["reads", "number"], ["read", "bytes"], ["writes", "number"], ["written", "bytes"], ["errors", "number"]]}
      />
      <Answer
        title="Sockets"
        sql={`select comm, pid, role, family || ' ' || protocol, remote, remote_port, local_port, read_bytes, write_bytes, errors from sockets where ${props.whole} order by read_bytes + write_bytes desc limit 200`}
        columns={[["process"], ["pid", "code"], ["role"], ["kind"], ["remote", "code"], ["port", "code"], ["local port", "code"], ["read", "bytes"], ["written", "bytes"], ["errors", "number"]]}
      />
      <Answer title="Could not be opened" sql={`select comm, pid, path, error, count from missing_files where ${props.whole} order by count desc limit 100`} columns={[["process"], ["pid", "code"], ["path", "code"], ["error", "code"], ["times", "number"]]} />
      <Answer title="Programs executed" sql={`select timestamp, pid, path, args from programs where ${props.whole} order by timestamp limit 200`} columns={[["at", "time"], ["pid", "code"], ["program", "code"], ["arguments", "code"]]} />
      <Answer title="Libraries" sql={`select pid, path from libraries where ${props.whole} limit 200`} columns={[["pid", "code"], ["file", "code"]]} />
    </>
  );
}

