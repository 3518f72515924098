// What a thread did in a stretch of time: on a CPU, or off it by reason, as event.Class
// has them. The colours are in style.css; hatching tells apart where they are near to each
// other, so that nothing is said by colour alone.

export interface Class {
  name: string; // in SQL and JSON
  title: string;
  css: string; // the variable with its colour
}

/** The classes, in the order in which bars stack them. */
export const classes: Class[] = [
  { name: "on_cpu", title: "on CPU", css: "--on-cpu" },
  { name: "runq", title: "run queue", css: "--runq" },
  { name: "throttled", title: "CPU quota", css: "--throttled" },
  { name: "futex", title: "lock", css: "--futex" },
  { name: "block_io", title: "disk", css: "--block-io" },
  { name: "fault", title: "page fault", css: "--fault" },
  { name: "network", title: "network", css: "--network" },
  { name: "pipe", title: "pipe", css: "--pipe" },
  { name: "poll", title: "poll", css: "--poll" },
  { name: "sleep", title: "sleep", css: "--sleep" },
  { name: "ioctl", title: "GPU driver", css: "--ioctl" },
  { name: "other", title: "other wait", css: "--other" },
];

const byName = new Map(classes.map((c) => [c.name, c]));

/** The class of a name; one that a newer server knows is shown as "other". */
export function classOf(name: string): Class {
  return byName.get(name) ?? byName.get("other")!;
}
