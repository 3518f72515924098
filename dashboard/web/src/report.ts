// What "ingero explain --json" prints and the API answers at chains, as package report has
// it. Times are Unix nanoseconds, durations nanoseconds.

import type { Window } from "./wire";

export interface Report {
  db: string;
  node: string;
  window: Window;
  events: number; // calls, thinned ones included
  lost: Record<string, number>;
  verdict: string;
  chains: Chain[];
  not_explained: NotExplained[];
  in_flight?: InFlight[];
  idle?: Idle[];
  ended?: Ended[];
  gpu_errors?: GPUError[];
  workloads?: Workload[];
  notes?: string[];
  stored_chains?: StoredChain[];
}

export interface Chain {
  id: string;
  severity: "HIGH" | "MEDIUM" | "LOW";
  summary: string;
  explained_pct: number;
  lost_ns: number;
  lost_pct: number;
  effect: Effect;
  cause: Cause;
  path: Step[];
  evidence: { event_ids: string[]; sample: number };
  stack: string[];
  recommendations: string[];
  pattern?: Pattern;
  per_step?: { lost_ns: number; steps: number; affected: number };
  what_if?: { now_ns: number; step_ns: number; low_ns: number; high_ns: number; faster_pct: number; remains?: string };
  rest?: { of: string; what: string; class?: string; ns: number; pct: number }[]; // lost time beside the cause
  also?: string[]; // kinds of how the thread waited, if the cause is another
  culprits?: Culprit[]; // if there are several, most time first
  alternatives?: { kind: string; pct: number; why: string }[];
  counter_evidence?: string;
  owners?: Owner[];
}

/** One of several threads that a finding is about; pct is its share of the lost time. */
export interface Culprit {
  process: string;
  pid: number;
  tid: number;
  thread: string;
  ns: number;
  pct: number;
}

export interface Effect {
  op: string;
  process: string;
  pid: number;
  tid: number;
  thread: string;
  calls: number;
  slow_calls: number;
  p50_ns: number;
  p99_ns: number;
  max_ns: number;
  tail_ratio: number;
  kernel?: string;
  node?: string;
}

export interface Cause {
  kind: string;
  process: string;
  pid: number;
  tid: number;
  thread: string;
  detail: string;
  node?: string;
}

export interface Step {
  layer: string;
  process: string;
  pid: number;
  tid: number;
  thread: string;
  state: string;
  on: string;
  ns: number;
  node?: string;
}

export interface Pattern {
  kind: string;
  from_ns: number;
  times: number;
  period_ns: number;
  timeline: number[];
}

export interface Owner {
  pid: number;
  process: string;
  text?: string;
  rank?: number;
  world_size?: number;
  ns_pid?: number;
}

export interface NotExplained {
  effect: Effect;
  lost_ns: number;
  lost_pct: number;
  explained_pct: number;
  why: string;
}

export interface InFlight {
  op: string;
  inner_op?: string;
  process: string;
  pid: number;
  tid: number;
  thread: string;
  since_ns: number;
  age_ns: number;
  doing: string;
  waits_for: string;
  holder?: string;
  holder_tid?: number;
  file?: string;
  outcome: string;
  hangs: boolean;
  stack: string[];
  node?: string;
}

export interface Idle {
  process: string;
  pid: number;
  tid: number;
  ns: number;
  pct: number;
  on: string;
  node?: string;
}

export interface Ended {
  process: string;
  pid: number;
  at_ns: number;
  why: string;
  node?: string;
}

export interface GPUError {
  at_ns: number;
  gpu: number | null;
  xid: number;
  description: string;
  times: number;
  failed_calls: { process: string; pid: number; op: string; ret_code: number; calls: number; after_ns: number }[] | null;
}

export interface Workload {
  process: string;
  pid: number;
  tid: number;
  steps: number;
  per_step: string;
  warmup_ns: number;
  p50_ns: number;
  p99_ns: number;
  trend_pct: number;
  node?: string;
}

export interface StoredChain {
  id: string;
  severity: string;
  summary: string;
  root_cause: string;
  explanation: string;
  op: string;
  at_ns: number;
  node: string;
  recommendations: string[];
  supported: string;
}
