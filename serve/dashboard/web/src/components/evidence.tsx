import { useState } from "preact/hooks";
import { classOf } from "../classes";
import { intervals, spans, type Interval, type Span } from "../evidence";
import { clock, duration } from "../format";
import type { Chain } from "../wire";
import { href } from "../route";
import { useFixed, useSQL } from "../sql";
import { State } from "../state";
import { Stack } from "./stack";
import { Swatch } from "./swatch";

/** The rows of a finding's evidence, each with what its thread waited for and the stack. */
export function Evidence(props: { of: Chain }) {
  const { evidence } = props.of;
  const [open, setOpen] = useState("");
  const ids = evidence.event_ids;
  const found = useSQL<Span>(ids.length > 0 ? spans(ids) : null);
  if (ids.length === 0) return null;
  const missing = found.value ? ids.length - found.value.length : 0;
  return (
    <section class="evidence">
      <h3>Rows</h3>
      <p class="faint">
        The {ids.length} longest of {evidence.sample} that it rests on.
        {missing > 0 && ` ${missing} of them ${missing === 1 ? "is" : "are"} no longer stored one by one.`}
      </p>
      <State of={found}>
        <ul class="plain">
          {found.value?.map((s) => (
            <li key={s[0]}>
              <Row of={s} open={open === s[0]} toggle={() => setOpen(open === s[0] ? "" : s[0])} />
            </li>
          ))}
        </ul>
      </State>
    </section>
  );
}

function Row(props: { of: Span; open: boolean; toggle: () => void }) {
  const [id, start, ns, span, op, , tid, ret, , wait, name] = props.of;
  const at = Number(start);
  const margin = Math.max(ns / 2, 100_000);
  return (
    <>
      <button class="row" aria-expanded={props.open} onClick={props.toggle} title={id}>
        <span class="turn">{props.open ? "▾" : "▸"}</span> <span class="time">{clock(at)}</span> <b class="time">{duration(ns)}</b>{" "}
        <code>{span === "call" ? op : span === "gap" ? `pause before ${op}` : op ? `wait in ${op}` : "wait between calls"}</code> <small>tid {tid}</small>
        {ret ? <b class="bad"> returned {ret}</b> : ""}
        {name && wait ? (
          <>
            {" "}
            <Swatch of={classOf(name)} /> {duration(wait)}
          </>
        ) : (
          ""
        )}
      </button>{" "}
      <a href={href("timeline", { from: Math.floor(at - margin), to: Math.ceil(at + ns + margin), tid, since: null })}>timeline</a>
      {props.open && <Inside of={props.of} />}
    </>
  );
}

/** What the thread waited for in a span, and where in the code it was. */
function Inside(props: { of: Span }) {
  const found = useFixed<Interval>(intervals(props.of));
  const stack = props.of[8];
  return (
    <div class="inside">
      <State of={found}>
        {found.value?.length === 0 && <p class="faint">The thread did not leave its CPU in it.</p>}
        {found.value?.map((i) => (
          <Wait key={i[0]} of={i} />
        ))}
      </State>
      {stack !== "0" && (
        <>
          <h4>The call's stack</h4>
          <Stack hash={stack} title="the call's stack, innermost first" />
        </>
      )}
    </div>
  );
}

function Wait(props: { of: Interval }) {
  const [start, ns, name, runq, syscall, futex, holder, inode, waker, culprit, culpritNS, stack] = props.of;
  const file = useFixed<[string]>(inode && inode !== "0" ? `select path from waited_files where inode = ${inode} limit 1` : null).value?.[0]?.[0];
  const facts = [
    runq > 0 && name !== "runq" && `of it ${duration(runq)} runnable`,
    syscall && `in ${syscall}`,
    name === "futex" && futex && `lock ${futex}`,
    holder && `held by tid ${holder}`,
    file && `for ${file}`,
    culprit && `${culprit} ran${culpritNS ? ` ${duration(culpritNS)}` : ""}`,
    waker && `woken by ${waker}`,
  ].filter(Boolean);
  return (
    <div class="wait">
      <span class="time">{clock(Number(start))}</span> <b class="time">{duration(ns)}</b> <Swatch of={classOf(name)} /> {facts.join(", ")}
      {stack && stack !== "0" && <Stack hash={stack} title="the kernel's stack, innermost first" />}
    </div>
  );
}
