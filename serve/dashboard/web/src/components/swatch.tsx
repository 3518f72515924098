import type { Class } from "../classes";
import "./swatch.css";

/** The name of a class with its colour and hatching. */
export function Swatch(props: { of: Class }) {
  return (
    <span class="swatch">
      <i class={`class-${props.of.name}`} /> {props.of.title}
    </span>
  );
}
