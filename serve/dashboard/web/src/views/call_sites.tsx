import { useGet } from "../api";
import { Who } from "../components/finding";
import { Table, type Column } from "../components/table";
import { count, percent } from "../format";
import { scope } from "../route";
import { State } from "../state";
import type { CallSite, CallSites as Answer } from "../wire";

/** Where in its code the program waits for the GPU. */
export function CallSites() {
  const loaded = useGet<Answer>("call_sites", scope.value);
  const found = loaded.value;
  return (
    <State of={loaded}>
      <h1>Call sites</h1>
      {found && (found.sites.length > 0 ? <Places of={found} /> : <None of={found} />)}
    </State>
  );
}

function None(props: { of: Answer }) {
  const { unplaced_calls: unplaced } = props.of;
  if (unplaced === 0) return <p class="empty">No call waited for the GPU in this part of the recording. Other calls do not tell where they were made from.</p>;
  return (
    <p class="empty">
      An earlier Ingero recorded this, and did not note where calls that wait for the GPU were made from: {count(unplaced)} of them. A new recording by <code>ingero trace</code> tells.
    </p>
  );
}

function Places(props: { of: Answer }) {
  const { sites, total, unplaced_calls: unplaced } = props.of;
  const notes = [
    sites.length < total && `These are the first ${count(sites.length)} of ${count(total)} places.`,
    unplaced > 0 && `An earlier Ingero did not note the places of ${count(unplaced)} calls.`,
  ].filter(Boolean);
  return (
    <>
      <p class="faint">
        The places in the code from which calls that wait for the GPU were made. The figures are exact and of all calls, of whole seconds. What a place is called is known from the calls that have a
        stack, mostly slow ones.
      </p>
      {notes.map((n) => (
        <p key={n} class="faint">
          {n}
        </p>
      ))}
      <Table rows={sites} columns={columns} caption="most time first; exact; share: of the time in all calls of the operation" id={(s) => `${s.pid} ${s.op} ${s.call_site}`} />
    </>
  );
}

const columns: Column<CallSite>[] = [
  { title: "process", of: (s) => s.process, show: (s) => <Who process={s.process} pid={s.pid} /> },
  { title: "operation", of: (s) => s.op, kind: "code" },
  { title: "place", of: (s) => s.call_site, kind: "code", show: (s) => <Place of={s} /> },
  { title: "calls", of: (s) => s.calls, kind: "number" },
  { title: "p50", of: (s) => s.p50_ns, kind: "duration" },
  { title: "p99", of: (s) => s.p99_ns, kind: "duration" },
  { title: "longest", of: (s) => s.max_ns, kind: "duration" },
  { title: "total", of: (s) => s.total_ns, kind: "duration" },
  { title: "share", of: (s) => s.op_total_ns, kind: "number", show: (s) => percent(s.total_ns / Math.max(s.op_total_ns, 1)) },
];

/** A place, with its name if it has one, its address and its callers. */
function Place(props: { of: CallSite }) {
  const { call_site: address, place, callers } = props.of;
  if (address === "0x0") return <>other places, or not known</>;
  return (
    <>
      {place || "no stack was taken there"} <small>{[address, ...callers.map((c) => `from ${c}`)].join(", ")}</small>
    </>
  );
}
