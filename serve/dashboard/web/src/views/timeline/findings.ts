// Findings on the timeline: their evidence as marks, and the chain of one as arrows.

import { duration } from "../../format";
import type { Chain } from "../../wire";
import type { Arrow, Mark } from "./overlay";
import type { Layout } from "./layout";

/** The time in an event's id, in ns since origin. */
export function timeOf(id: string, origin: number): number | undefined {
  const found = /:(\d+)[a-z]?$/.exec(id);
  return found ? Number(BigInt(found[1]!) - BigInt(origin)) : undefined;
}

export function marksOf(chains: Chain[], origin: number): Mark[] {
  return chains.flatMap((c) =>
    c.evidence.event_ids.flatMap((id) => {
      const at = timeOf(id, origin);
      return at === undefined ? [] : [{ at, finding: c.id, severity: c.severity, summary: c.summary }];
    }),
  );
}

/**
 * The path of a finding at one of its events, as arrows from each step to the one it delayed.
 * A step without a lane is named where its arrow starts.
 */
export function chainArrows(chain: Chain, at: number, layout: Layout): Arrow[] {
  const out: Arrow[] = [];
  for (let i = 0; i + 1 < chain.path.length; i++) {
    const effect = chain.path[i]!;
    const to = layout.find(effect.tid, effect.pid);
    if (!to) continue;
    const cause = chain.path.slice(i + 1).find((s) => s.tid !== effect.tid || s.pid !== effect.pid);
    if (!cause || out.some((a) => a.to.row === to)) continue;
    const from = layout.find(cause.tid, cause.pid);
    out.push({
      from: { row: from, at, name: `${cause.process || cause.thread || "process"} ${cause.pid}`, part: "call" },
      to: { row: to, at, part: i === 0 ? "call" : "wait" },
      label: [cause.state, cause.on, effect.ns ? duration(effect.ns) + " in all" : ""].filter(Boolean).join(" · "),
    });
  }
  return out;
}
