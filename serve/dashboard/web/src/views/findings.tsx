import { useEffect } from "preact/hooks";
import { useGet } from "../api";
import { Detail } from "../components/detail";
import { Lost, Severity } from "../components/finding";
import type { Report } from "../wire";
import { change, href, route, scope } from "../route";
import { State } from "../state";
import { Rest } from "./rest";
import "./findings.css";

/** The findings, and one of them in full. */
export function Findings() {
  const report = useGet<Report>("chains", scope.value);
  const chains = report.value?.chains ?? [];
  const asked = route.value.params.get("finding");
  const shown = asked ? chains.findIndex((c) => c.id === asked) : chains.length > 0 ? 0 : -1;
  useSteps(chains.map((c) => c.id), shown);
  return (
    <State of={report}>
      {report.value && chains.length === 0 && <h1 class="verdict">{report.value.verdict}</h1>}
      <div class="findings">
        {chains.length > 0 && (
          <nav aria-label="findings">
            {chains.map((c, i) => (
              <a key={c.id} href={href("findings", { finding: c.id })} aria-current={i === shown ? "true" : undefined}>
                <Severity of={c.severity} /> {c.lost_pct > 0 && <Lost ns={c.lost_ns} pct={c.lost_pct} />}
                <span>{c.summary}</span>
              </a>
            ))}
            <p class="faint">
              <kbd>j</kbd> next, <kbd>k</kbd> the one before
            </p>
          </nav>
        )}
        {shown >= 0 && <Detail key={chains[shown]!.id} chain={chains[shown]!} report={report.value!} />}
        {asked && shown < 0 && report.value && <p class="empty">There is no finding {asked} in this part of the recording.</p>}
      </div>
      {report.value && <Rest report={report.value} />}
    </State>
  );
}

/** Lets j and k go through the findings, and Escape go to the overview. */
function useSteps(ids: string[], shown: number) {
  useEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || (e.target as HTMLElement).closest("input, select")) return;
      const step = { j: 1, k: -1 }[e.key];
      const next = step && ids[shown + step];
      if (next) change({ finding: next }, true);
      else if (e.key === "Escape") location.hash = href("overview");
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [ids.join(), shown]);
}
