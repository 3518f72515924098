// What the API answers, as package nodeapi/wire and report have it. Times are Unix
// nanoseconds and durations nanoseconds; times are above 2^53, so that their last
// some hundred nanoseconds are lost here, which no picture shows.

export interface Window {
  from_ns: number;
  to_ns: number;
  note?: string;
}

export interface About {
  node: string;
  window: Window;
  lost: Record<string, number>;
}

export interface Session {
  started_ns: number;
  stopped_ns: number; // 0: it has not stopped
  node: string;
  host: string;
  kernel: string;
  arch: string;
  cpus: number;
  version: string;
}

/** What is known of a recording without looking for causes in it. */
export interface Recording {
  node: string;
  db: string;
  version: string;
  schema: number;
  first_ns: number;
  last_ns: number;
  calls: number;
  stored_rows: number;
  sessions: Session[];
  lost: Record<string, number>;
}

export interface Op {
  pid: number;
  process: string;
  op: string;
  calls: number;
  errors: number;
  p50_ns: number;
  p95_ns: number;
  p99_ns: number;
  max_ns: number;
  total_ns: number;
  bytes: number;
}

export interface Thread {
  tid: number;
  name: string;
  dispatch: boolean;
}

export interface Process {
  pid: number;
  parent_pid: number;
  name: string;
  command: string;
  traced: boolean;
  rank: number; // -1: none
  local_rank: number;
  world_size: number;
  threads: Thread[];
}

export interface Processes {
  node: string;
  processes: Process[];
}

export interface Ops extends About {
  ops: Op[];
}

export interface ThreadLedger {
  pid: number;
  tid: number;
  process: string;
  thread: string;
  wall_ns: number;
  calls: number;
  calls_ns: number;
  in_calls_ns: Record<string, number>;
  between_calls_ns: Record<string, number>;
}

export interface Ledgers extends About {
  threads: ThreadLedger[];
}

export interface SystemReading {
  at_ns: number;
  cpu_pct: number;
  steal_pct: number;
  mem_pct: number;
  mem_available_mb: number;
  swap_mb: number;
  load: number;
}

export interface GPUReading {
  at_ns: number;
  gpu: number;
  temp_c: number;
  clock_mhz: number;
  max_mhz: number;
  util_pct: number;
  throttle_reasons: number;
  mem_mb: number;
  total_mb: number;
}

export interface Snapshots {
  node: string;
  machine: SystemReading[];
  gpus: GPUReading[];
}

/** What the numbers of an answer are of, where that is easily mistaken. */
export interface Note {
  text: string;
  of: string; // the same without the exact numbers
  exact?: unknown[][];
}

/** What a statement of SQL answers. */
export interface Rows<T> {
  columns: string[];
  rows: T[];
  truncated: boolean;
  notes?: Note[];
}
