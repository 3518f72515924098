import { asked, get, query, useLoad, type Loaded, type Rows } from "./api";
import { scope } from "./route";
import type { Ops } from "./wire";

/**
 * Runs a statement. There are no rows if the recording, of an earlier Ingero, lacks one of its
 * views, or the column that needs names as "view.column". A null statement is not run.
 */
export function useSQL<T extends unknown[]>(sql: string | null, limit = 200, needs = "", once = false): Loaded<T[]> {
  const loaded = useAnswer<T>(sql, limit, needs, once);
  return { ...loaded, value: loaded.value?.rows };
}

/** useSQL with the node's notes on the numbers. */
export function useAnswer<T extends unknown[]>(sql: string | null, limit = 200, needs = "", once = false): Loaded<Rows<T>> {
  return useLoad(sql === null ? null : (signal) => answer<T>(sql, limit, needs, signal), [sql, limit], once);
}

/** useSQL for what never changes, like the frames of a stack. */
export function useFixed<T extends unknown[]>(sql: string | null): Loaded<T[]> {
  return useSQL<T>(sql, 200, "", true);
}

async function answer<T extends unknown[]>(sql: string, limit: number, needs: string, signal: AbortSignal): Promise<Rows<T>> {
  const there = await schema();
  const lacks = namesIn(sql).some((n) => !there.has(n)) || (needs && !there.has(needs));
  return lacks ? { columns: [], rows: [], truncated: false } : query<T>(sql, limit, signal);
}

let known: Promise<Set<string>> | undefined;
let knownOf = -1;

/** The recording's views, and their columns as "view.column", kept until asked changes. */
function schema(): Promise<Set<string>> {
  if (known && knownOf === asked.value) return known;
  const all = "select name from sqlite_master union select name from sqlite_temp_master";
  const sql = `select v.name, c.name from (${all}) v, pragma_table_info(v.name) c where v.name = lower(v.name)`;
  knownOf = asked.value;
  known = query<[string, string]>(sql, 20_000).then((a) => new Set(a.rows.flatMap(([view, column]) => [view, `${view}.${column}`])));
  known.catch(() => (known = undefined));
  return known;
}

/** The views that a statement reads, without those that it defines itself. */
function namesIn(sql: string): string[] {
  const own = [...sql.matchAll(/\bwith (\w+) as\b/g)].map((m) => m[1]);
  return [...sql.matchAll(/\b(?:from|join) (\w+)/g)].map((m) => m[1]!).filter((n) => !own.includes(n));
}

/**
 * Makes a condition for the part of the recording that is shown. time names the time column;
 * it is empty if the rows are of the recording as a whole. pid likewise.
 */
export type Where = (time?: string, pid?: string) => string;

/** The condition for the part that is shown, as the server reads the address. */
export function useWhere(): Loaded<Where> {
  const s = scope.value;
  const all = s.since === "all" && !s.from && !s.to;
  return useLoad(
    async (signal) => {
      const window = all ? undefined : (await get<Ops>("ops", { ...s, limit: "1" }, signal)).window;
      return (time = "timestamp", pid = "pid") => {
        const terms = [];
        if (time && window) terms.push(`${time} >= ${window.from_ns} and ${time} < ${window.to_ns}`);
        if (pid && s.pid && /^\d+$/.test(s.pid)) terms.push(`${pid} = ${s.pid}`);
        return terms.join(" and ") || "1";
      };
    },
    [s],
  );
}
