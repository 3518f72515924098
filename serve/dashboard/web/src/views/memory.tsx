import { Answer, site } from "../components/answer";
import { Series } from "../components/series";
import { useSQL, useWhere } from "../sql";
import { State } from "../state";

/** What is allocated, by whom and where in the code, and the use of the GPUs' and the host's memory. */
export function Memory() {
  const where = useWhere();
  return <State of={where}>{where.value && <Shown where={where.value()} machine={where.value("timestamp", "")} whole={where.value("")} />}</State>;
}

function Shown(props: { where: string; machine: string; whole: string }) {
  const { where, machine, whole } = props;
  const who = "comm || ' ' || pid || case space when 'device' then '' else ' ' || space end";
  return (
    <>
      <h1>Memory</h1>
      <Recorded where={where} />
      <div class="charts">
        <Series title="allocated by processes" unit="bytes" of={{ view: "memory", where, name: who, column: "live_bytes" }} />
        <Series title="allocations alive" unit="number" of={{ view: "memory", where, name: who, column: "live_count" }} />
        <Series title="in use on GPUs, as the driver tells" unit="bytes" of={{ view: "gpu_snapshots", where: machine, name: "'GPU ' || gpu_id", column: "mem_used_mb * 1048576" }} />
        <Series title="of it, by process" unit="bytes" of={{ view: "gpu_process_memory", where, name: "process || ' ' || pid || ' on GPU ' || gpu_id", column: "bytes" }} />
        <Series title="host memory in use" unit="percent" of={{ view: "system_snapshots", where: machine, name: "'in use'", column: "mem_pct" }} />
        <Series title="given by the kernel, each second" unit="bytes" of={{ view: "page_allocations", where, name: "comm || ' ' || pid", column: "bytes" }} />
      </div>
      <Allocations where={where} whole={whole} />
      <GPUs machine={machine} />
      <Host where={where} whole={whole} />
    </>
  );
}

function Recorded(props: { where: string }) {
  const n = useSQL<[number]>(`select count(*) from memory where ${props.where}`).value?.[0]?.[0];
  if (n !== 0) return null;
  return (
    <p class="empty">
      No process allocated device memory in this part of the recording. <code>ingero trace</code> follows allocations unless it is told not to.
    </p>
  );
}

function Allocations(props: { where: string; whole: string }) {
  const last = "max(timestamp)";
  return (
    <>
      <Answer
        title="Processes"
        sql={`select comm, pid, space, live_bytes, live_count, max(peak_bytes), sum(allocs), sum(frees), sum(failed), sum(bytes), sum(alloc_ns), ${last} from memory where ${props.where} group by pid, space order by 4 desc`}
        columns={[["process"], ["pid", "code"], ["space"], ["live at the end", "bytes"], ["allocations", "number"], ["peak", "bytes"], ["allocated", "number"], ["freed", "number"], ["refused", "number"], ["in all", "bytes"], ["time in it", "duration"]]}
      />
      <Answer
        title="Growing places"
        sql={`select comm, pid, op, grown_bytes, grown_count, live_bytes, oldest_age_ns, ${site("leak_candidates")} from leak_candidates where ${props.whole} order by grown_bytes desc limit 50`}
        columns={[["process"], ["pid", "code"], ["operation", "code"], ["grew by", "bytes"], ["allocations", "number"], ["live", "bytes"], ["oldest", "duration"], ["place", "stack"]]}
      />
      <Answer
        title="Places that hold most"
        sql={`select comm, pid, space, op, live_bytes, live_count, oldest, ${site("memory_sites")}, max(timestamp) from memory_sites where ${props.where} group by pid, space, op, stack_hash order by live_bytes desc limit 50`}
        columns={[["process"], ["pid", "code"], ["space"], ["operation", "code"], ["live", "bytes"], ["allocations", "number"], ["oldest from", "time"], ["place", "stack"]]}
      />
      <Answer
        title="Allocations that were refused"
        sql={`select timestamp, comm, pid, op, bytes, ret_code, process_live_bytes, ${site("failed_allocations")} from failed_allocations where ${props.where} order by timestamp desc limit 50`}
        columns={[["at", "time"], ["process"], ["pid", "code"], ["operation", "code"], ["wanted", "bytes"], ["returned", "number"], ["live then", "bytes"], ["place", "stack"]]}
      />
    </>
  );
}

function GPUs(props: { machine: string }) {
  const gpu = "'GPU ' || gpu_id";
  return (
    <>
      <Answer title="GPUs" sql="select distinct gpu_id, name, uuid, pci_bus_id, driver_version from gpus" columns={[["GPU", "number"], ["name"], ["UUID", "code"], ["bus", "code"], ["driver", "code"]]} none="The GPUs' own readings are not recorded: ingero trace needs NVIDIA's libnvidia-ml.so on the machine." />
      <div class="charts">
        <Series title="GPU in use" unit="percent" of={{ view: "gpu_snapshots", where: props.machine, name: gpu, column: "util_pct" }} />
        <Series title="temperature" unit="celsius" of={{ view: "gpu_snapshots", where: props.machine, name: gpu, column: "temp_c" }} />
        <Series title="power" unit="watt" of={{ view: "gpu_snapshots", where: props.machine, name: gpu, column: "power_w" }} />
        <Series title="clock, MHz" unit="number" of={{ view: "gpu_snapshots", where: props.machine, name: gpu, column: "clock_mhz" }} />
      </div>
      <Answer title="Errors of GPUs (Xid)" sql={`select timestamp, gpu_id, xid, description from gpu_xids where ${props.machine} order by timestamp limit 100`} columns={[["at", "time"], ["GPU", "number"], ["Xid", "number"], ["what it is"]]} />
    </>
  );
}

function Host(props: { where: string; whole: string }) {
  return (
    <>
      <Answer
        title="Memory given by the kernel"
        sql={`select comm, pid, sum(allocations), sum(bytes), sum(nowait_bytes), sum(failed) from page_allocations where ${props.where} group by pid order by 4 desc limit 50`}
        columns={[["process"], ["pid", "code"], ["times", "number"], ["in all", "bytes"], ["without waiting", "bytes"], ["failed", "number"]]}
        none={<>Pages are not recorded; record them with <code>ingero trace --pages</code>.</>}
      />
      <Answer
        title="Memory freed before it could be given"
        sql={`select comm, tid, kind, count(*), sum(reclaim_ns), max(duration_ns) from reclaims where ${props.where} group by tid, kind order by 5 desc limit 50`}
        columns={[["thread"], ["tid", "code"], ["kind"], ["times", "number"], ["time in it", "duration"], ["longest", "duration"]]}
      />
      <Answer title="Memory limits that were met" sql={`select pid, cgroup, bytes from memory_limits where ${props.whole}`} columns={[["pid", "code"], ["control group", "code"], ["limit", "bytes"]]} />
      <Answer title="Ended because memory had run out" sql={`select timestamp, comm, pid, trigger_pid from oom_kill where ${props.where}`} columns={[["at", "time"], ["process"], ["pid", "code"], ["wanted memory", "code"]]} />
    </>
  );
}
