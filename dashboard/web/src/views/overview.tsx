import { useGet } from "../api";
import { State } from "../state";
import { count, duration } from "../format";
import { scope } from "../route";
import type { Overview as Answer } from "../wire";

/** The verdict, and what it rests on. */
export function Overview() {
  const loaded = useGet<Answer>("overview", scope.value);
  const o = loaded.value;
  return (
    <State of={loaded}>
      {o && (
        <>
          <h1 class="verdict">{o.verdict}</h1>
          <p>
            {count(o.calls)} calls in {duration(o.window.to_ns - o.window.from_ns)}
            {o.window.note && `, ${o.window.note}`}
          </p>
        </>
      )}
    </State>
  );
}
