import { computed, signal } from "@preact/signals";

// The address says what is shown, after the #, so that a view can be bookmarked, sent to
// somebody and gone back to: #/timeline?from=…&to=…&tid=….

export interface Route {
  view: string;
  params: URLSearchParams;
}

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { view: path || "overview", params: new URLSearchParams(query) };
}

export const route = signal(parse(location.hash));

addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

/** The parameters that all views share. */
const shared = ["since", "from", "to", "pid", "live"];

/** The part of the recording that is shown, as parameters of the API. */
export const scope = computed(() => {
  const p = route.value.params;
  const out: Record<string, string> = {};
  for (const name of ["since", "from", "to", "pid"]) {
    const v = p.get(name);
    if (v) out[name] = v;
  }
  if (!out.since && !out.from && !out.to) out.since = "all";
  return out;
});

/** Whether live mode is on: the page asks again and again. */
export const live = computed(() => route.value.params.get("live") === "1");

/** The address of a view. Shared parameters are kept unless they are given; null drops one. */
export function href(view: string, params: Record<string, string | number | null> = {}): string {
  const out = new URLSearchParams();
  for (const name of shared) {
    const v = route.value.params.get(name);
    if (v !== null && params[name] === undefined) out.set(name, v);
  }
  for (const [name, v] of Object.entries(params)) {
    if (v !== null) out.set(name, String(v));
  }
  const query = out.toString();
  return `#/${view}${query ? "?" + query : ""}`;
}

/** Changes parameters of the view that is shown. With replace, the browser's history gets no entry. */
export function change(params: Record<string, string | number | null>, replace = false): void {
  const own: Record<string, string | number | null> = {};
  for (const [name, v] of route.value.params) own[name] = v;
  const to = href(route.value.view, { ...own, ...params });
  if (replace) {
    history.replaceState(null, "", to);
    route.value = parse(to);
  } else {
    location.hash = to;
  }
}
