import type { ComponentChildren } from "preact";
import type { Loaded } from "./api";

/** Shows what was loaded or, until then, that it is being read; and any error. */
export function State(props: { of: Loaded<unknown>; children: ComponentChildren }) {
  const { value, error, busy } = props.of;
  return (
    <>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {value === undefined ? busy && <p class="empty">Reading…</p> : props.children}
    </>
  );
}
