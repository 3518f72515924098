// Merges stacks into a tree and places its boxes.

/** A place in the code with its sums. frames are innermost first, as in the API. */
export interface Site {
  process: string;
  pid: number;
  heads: string[]; // between the process and the stack, such as the operation
  frames: string[];
  value: number;
  calls: number;
}

export interface Node {
  name: string;
  kind: "all" | "process" | "head" | "frame" | "unknown";
  value: number;
  calls: number;
  parent: Node | undefined;
  children: Node[];
}

/** Shown in place of an unknown stack. */
export const unknown = "(no stack)";

function child(of: Node, name: string, kind: Node["kind"], s: Site): Node {
  let found = of.children.find((c) => c.name === name && c.kind === kind);
  if (!found) of.children.push((found = { name, kind, value: 0, calls: 0, parent: of, children: [] }));
  found.value += s.value;
  found.calls += s.calls;
  return found;
}

/** The tree of places: process, then heads, then the stack from the outermost frame on. */
export function build(sites: Site[], title: string): Node {
  const root: Node = { name: title, kind: "all", value: 0, calls: 0, parent: undefined, children: [] };
  for (const s of sites) {
    root.value += s.value;
    root.calls += s.calls;
    let at = child(root, `${s.process || "process"} ${s.pid}`, "process", s);
    for (const h of s.heads) at = child(at, h, "head", s);
    if (s.frames.length === 0) child(at, unknown, "unknown", s);
    for (const f of s.frames.toReversed()) at = child(at, f, "frame", s);
  }
  sort(root);
  return root;
}

function sort(n: Node): void {
  n.children.sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
  n.children.forEach(sort);
}

export interface Box {
  node: Node;
  depth: number;
  from: number; // shares of the width
  to: number;
}

/** The boxes of the node in focus, of its ancestors, and of its descendants at least this wide. */
export function place(focus: Node, least: number): Box[] {
  const out: Box[] = [];
  const above: Node[] = [];
  for (let n = focus.parent; n; n = n.parent) above.unshift(n);
  above.forEach((node, depth) => out.push({ node, depth, from: 0, to: 1 }));
  const visit = (node: Node, depth: number, from: number, to: number) => {
    out.push({ node, depth, from, to });
    let at = from;
    for (const c of node.children) {
      const wide = node.value > 0 ? ((to - from) * c.value) / node.value : 0;
      if (wide >= least) visit(c, depth + 1, at, at + wide);
      at += wide;
    }
  };
  visit(focus, above.length, 0, 1);
  return out;
}

/** The nodes whose name contains a text, and the sum of their values, each call once. */
export function search(root: Node, text: string): { found: Set<Node>; value: number } {
  const found = new Set<Node>();
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return { found, value: 0 };
  const visit = (n: Node, inside: boolean): number => {
    const hit = n.kind !== "all" && n.name.toLowerCase().includes(wanted);
    if (hit) found.add(n);
    const below = n.children.reduce((sum, c) => sum + visit(c, inside || hit), 0);
    return hit && !inside ? n.value : inside ? 0 : below;
  };
  return { found, value: visit(root, false) };
}

/** The names from the root to a node, by which another tree of the same places finds it. */
export function pathOf(n: Node): string[] {
  const out: string[] = [];
  for (let at: Node | undefined = n; at?.parent; at = at.parent) out.unshift(at.kind + at.name);
  return out;
}

export function find(root: Node, path: string[]): Node {
  let at = root;
  for (const name of path) {
    const next = at.children.find((c) => c.kind + c.name === name);
    if (!next) break;
    at = next;
  }
  return at;
}
