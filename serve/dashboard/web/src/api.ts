import { effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { live } from "./route";
import type * as wire from "./wire";

// docs/openapi.json describes what the server answers; "make web" makes the types in wire.d.ts
// of it. Times are Unix nanoseconds, and so above 2^53: numbers here round them to some hundred
// nanoseconds, which no picture shows.

/** The answer of a SQL statement whose columns have the types T. */
export type Rows<T> = Pick<wire.Rows, "columns" | "truncated" | "notes"> & { rows: T[] };

const tokenKey = "ingero-token";

/** Whether the server wants a token that we do not have. */
export const locked = signal(false);

/** Whether the token that we have is wrong. */
export const wrong = signal(false);

/** How many requests have no answer yet. */
const waiting = signal(0);

effect(() => {
  document.body.ariaBusy = String(waiting.value > 0);
});

/** Counts up whenever all that is shown should be requested again. */
export const asked = signal(0);

/** Keeps the token for this tab, until it is closed. */
export function unlock(token: string): void {
  sessionStorage.setItem(tokenKey, token);
  locked.value = false;
  asked.value++;
}

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** How many requests a page has running: a tracer answers two at a time, and others wait as well. */
const atOnce = 3;
let running = 0;
const queue: (() => void)[] = [];

async function request(path: string, init: RequestInit): Promise<unknown> {
  waiting.value++;
  if (running >= atOnce) await new Promise<void>((turn) => queue.push(turn));
  else running++;
  try {
    init.signal?.throwIfAborted();
    return await answered(path, init);
  } finally {
    const next = queue.shift();
    if (next) next();
    else running--;
    waiting.value--;
  }
}

async function answered(path: string, init: RequestInit): Promise<unknown> {
  const headers = new Headers(init.headers);
  const token = sessionStorage.getItem(tokenKey);
  if (token) headers.set("Authorization", "Bearer " + token);
  let answer: Response;
  try {
    answer = await fetch("api/v1/" + path, { ...init, headers });
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new Refused(0, "The server does not answer. Is ingero still running?");
  }
  if (answer.ok) return answer.json();
  if (answer.status === 401 && token === sessionStorage.getItem(tokenKey)) {
    locked.value = true;
    wrong.value = token !== null;
  }
  const text = await answer.text();
  let why = text.trim();
  try {
    why = (JSON.parse(text) as { error: string }).error;
  } catch {
    // It is not JSON: the text is shown as it is.
  }
  throw new Refused(answer.status, why || `HTTP status ${answer.status}`);
}

/** Requests one endpoint of the API. */
export function get<T>(name: string, params: Record<string, string>, signal?: AbortSignal): Promise<T> {
  const query = new URLSearchParams(params).toString();
  return request(name + (query ? "?" + query : ""), { signal: signal ?? null }) as Promise<T>;
}

/** Runs a SQL statement; docs/sql.md has the views. */
export function query<T extends unknown[]>(sql: string, limit: number, signal?: AbortSignal): Promise<Rows<T>> {
  return request("query", { method: "POST", body: JSON.stringify({ sql, limit }), signal: signal ?? null }) as Promise<Rows<T>>;
}

export interface Loaded<T> {
  value: T | undefined; // the last answer, also while the next one is requested
  error: string;
  busy: boolean;
}

/** The time from an answer to a live page's next request, in milliseconds. */
const period = 2000;

/**
 * Calls ask and has its answer; again when one of the keys changes, and every two seconds in
 * live mode, unless the page is hidden. A null ask is not called. With once, live mode does not
 * ask again.
 */
export function useLoad<T>(ask: ((signal: AbortSignal) => Promise<T>) | null, keys: unknown[], once = false): Loaded<T> {
  const [state, set] = useState<Loaded<T>>({ value: undefined, error: "", busy: ask !== null });
  const latest = useRef(ask);
  latest.current = ask;
  const key = JSON.stringify(keys);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = async () => {
      if (!latest.current) return;
      if (document.hidden && live.value) {
        timer = setTimeout(run, period);
        return;
      }
      set((s) => ({ ...s, busy: true }));
      try {
        const value = await latest.current(stop.signal);
        if (stop.signal.aborted) return;
        set({ value, error: "", busy: false });
      } catch (e) {
        if (stop.signal.aborted) return;
        set((s) => ({ ...s, error: e instanceof Error ? e.message : String(e), busy: false }));
      }
      if (live.value && !once) timer = setTimeout(run, period);
    };
    void run();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, live.value && !once, asked.value, ask === null]);
  return state;
}

/** useLoad for one endpoint of the API. */
export function useGet<T>(name: string, params: Record<string, string>): Loaded<T> {
  return useLoad((signal) => get<T>(name, params, signal), [name, params]);
}
