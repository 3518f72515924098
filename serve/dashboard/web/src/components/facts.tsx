import type { ComponentChildren } from "preact";

/** Facts, each with its name above it. */
export function Facts(props: { children: ComponentChildren }) {
  return <dl class="facts">{props.children}</dl>;
}

export function Fact(props: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}
