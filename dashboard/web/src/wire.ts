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

export interface Overview extends About {
  db: string;
  version: string;
  schema: number;
  first_ns: number;
  last_ns: number;
  calls: number;
  stored_rows: number;
  verdict: string;
  findings: Record<string, number>;
  sessions: Session[];
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
