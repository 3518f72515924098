import { useLoad, query, Refused, type Loaded, get } from "./api";
import { scope } from "./route";
import type { Ops } from "./wire";

/** Rows of SQL. Without one, the recording is older than the view that was asked for. */
export type Rows<T extends unknown[]> = T[];

/** Asks a statement. Recordings of an earlier Ingero lack views: then there are no rows. */
export function useSQL<T extends unknown[]>(sql: string | null, limit = 200): Loaded<Rows<T>> {
  return useLoad(sql === null ? null : (signal) => rows<T>(sql, limit, signal), [sql, limit]);
}

async function rows<T extends unknown[]>(sql: string, limit: number, signal: AbortSignal): Promise<Rows<T>> {
  try {
    return (await query<T>(sql, limit, signal)).rows;
  } catch (e) {
    if (e instanceof Refused && /no such (table|column)/.test(e.message)) return [];
    throw e;
  }
}

/**
 * A condition for the part of the recording that is looked at, as the server reads the
 * address; undefined until it has answered. time is the column of it, empty if the rows
 * are of the recording as a whole.
 */
export function useScope(time = "timestamp", pid = "pid"): string | undefined {
  const s = scope.value;
  const all = s.since === "all" && !s.from && !s.to;
  const window = useLoad(all ? null : (signal) => get<Ops>("ops", { ...s, limit: "1" }, signal), [s]).value?.window;
  if (!all && !window) return undefined;
  const terms = [];
  if (time && window) terms.push(`${time} >= ${window.from_ns} and ${time} < ${window.to_ns}`);
  if (pid && s.pid && /^\d+$/.test(s.pid)) terms.push(`${pid} = ${s.pid}`);
  return terms.join(" and ") || "1";
}
