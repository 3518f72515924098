// The classes of a thread's time: on a CPU, or off it by reason, as in event.Class. Colours
// are in style.css; similar ones also differ in hatching, so that nothing is said by colour
// alone.

import { classList } from "./classlist";

export interface Class {
  name: string; // in SQL and JSON
  title: string;
  css: string; // the variable with its colour
}

/** The classes, in the order in which bars stack them. */
export const classes: Class[] = classList.map((c) => ({ ...c, css: "--" + c.name.replace("_", "-") }));

const byName = new Map(classes.map((c) => [c.name, c]));

/** The class of a name; one that only a newer server knows is shown as "other". */
export function classOf(name: string): Class {
  return byName.get(name) ?? byName.get("other")!;
}
