import { count } from "../format";
import { useSQL } from "../sql";

/** Dropped records by kind; nothing if there are none. */
export function Losses(props: { lost: Record<string, number> }) {
  const kinds = Object.entries(props.lost);
  const known = useSQL<[string, string]>(kinds.length > 0 ? "select distinct kind, description from losses" : null);
  if (kinds.length === 0) return null;
  const about = new Map(known.value);
  return (
    <aside class="losses">
      <b>Not recorded:</b>{" "}
      {kinds.map(([kind, n], i) => (
        <span key={kind}>
          {i > 0 && "; "}
          {count(n)} {about.get(kind) ?? kind}
        </span>
      ))}
    </aside>
  );
}
