import type { ComponentChildren } from "preact";
import type { Loaded } from "./api";

/** Shows what was loaded; while there is nothing yet, that it is waited for; and what went wrong. */
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
