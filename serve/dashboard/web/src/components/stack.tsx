import { useFixed } from "../sql";

/** The lines of a stack, innermost first. */
export function Frames(props: { of: string[]; title?: string }) {
  if (props.of.length === 0) return null;
  return (
    <ol class="frames" aria-label={props.title ?? "stack, innermost first"}>
      {props.of.map((f, i) => (
        <li key={i}>
          <code>{f}</code>
        </li>
      ))}
    </ol>
  );
}

/** A stack by its hash as text: as a number it would be rounded. */
export function Stack(props: { hash: string; title: string }) {
  const found = useFixed<[string | null, string | null, number | null, string | null, string]>(
    `select symbol, file, line, module, kind from stack_frames where stack_hash = ${props.hash} order by depth`,
  );
  if (!found.value) return null;
  const lines = found.value.map(([symbol, file, line, module, kind]) => {
    const at = file ? `${file}${line ? ":" + line : ""}` : (module ?? "");
    return `${symbol || "?"}${at ? ` (${at})` : ""}${kind === "native" ? "" : ` · ${kind}`}`;
  });
  return <Frames of={lines.length > 0 ? lines : ["the frames of this stack are not in the recording"]} title={props.title} />;
}
