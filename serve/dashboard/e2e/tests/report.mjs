// The views show all parts of a report. This one has every part that exists.
import assert from "node:assert/strict";
import { join } from "node:path";
import { open, show } from "../lib/browser.mjs";
import { serve } from "../lib/server.mjs";
import { clean, test } from "../lib/suite.mjs";

const at = 1_735_689_600e9;
const who = { process: "trainer-process", pid: 4000, tid: 4001, thread: "loader-thread", node: "gpu-node-02" };

const effect = { ...who, op: "cudaMemcpyAsync", calls: 2345, slow_calls: 67, p50_ns: 1_230, p99_ns: 45_600, max_ns: 789_000, tail_ratio: 37.1, kernel: "softmax_kernel" };

const chain = {
  id: "cpu-contention-0123456789ab",
  severity: "HIGH",
  summary: "a summary <b>that is text</b>",
  explained_pct: 87.6,
  lost_ns: 1_540_000_000,
  lost_pct: 12.3,
  effect,
  cause: { ...who, kind: "cpu_contention", detail: "the cause in detail" },
  path: [
    { ...who, layer: "CUDA", state: "runnable", on: "CPU 3", ns: 1_540_000_000 },
    { ...who, layer: "HOST", state: "running", on: "CPU 3", ns: 1_000_000_000 },
    { ...who, layer: "HOST", state: "running", on: "a system call", ns: 540_000_000 },
  ],
  evidence: { event_ids: [], sample: 428 },
  stack: ["inner_frame [libx.so]", "train.py:12 in step"],
  recommendations: ["do this", "or that"],
  pattern: { kind: "periodic", times: 23, period_ns: 400_000_000, timeline: [0, 0.5, 1, 0] },
  per_step: { lost_ns: 1_480_000, steps: 1180, affected: 24 },
  what_if: { now_ns: 10_170_000, step_ns: 8_830_000, low_ns: 8_620_000, high_ns: 9_030_000, faster_pct: 15.2, remains: "the wait for the loader" },
  rest: [{ of: "hold", what: "the holder was on a CPU", class: "on_cpu", ns: 388_000_000, pct: 12.4 }],
  also: ["lock_contention"],
  culprits: [
    { process: "hog-one", pid: 611, tid: 612, thread: "hog-one", ns: 930_000_000, pct: 60.4 },
    { process: "hog-two", pid: 621, tid: 622, thread: "its-thread", ns: 610_000_000, pct: 39.6 },
  ],
  alternatives: [{ kind: "block_io", pct: 4.5, why: "the disk was idle" }],
  counter_evidence: "the machine was busy",
  owners: [{ pid: 4000, process: "trainer-process", text: "pod train/llama-0", rank: 3, world_size: 8, ns_pid: 17 }],
};

const report = {
  db: "x.db",
  node: "gpu-node-01",
  window: { from_ns: at, to_ns: at + 12e9, note: "the note of the window" },
  events: 25_036,
  lost: { ring: 61 },
  verdict: "the verdict",
  chains: [chain],
  not_explained: [{ effect, lost_ns: 5_000_000, lost_pct: 1.5, explained_pct: 3.4, why: "why it is not explained" }],
  in_flight: [
    {
      ...who, op: "cudaStreamSynchronize", inner_op: "cuStreamSynchronize", since_ns: at + 1e9, age_ns: 65e9, doing: "blocked", waits_for: "a lock", class: "futex",
      holder: "the-holder", holder_tid: 4711, file: "/data/the-file", outcome: "died", hangs: true, stack: ["hanging_frame"],
    },
  ],
  idle: [{ ...who, ns: 7e9, pct: 58, on: "accept: no request came" }],
  ended: [{ ...who, at_ns: at + 3e9, why: "memory had run out" }],
  gpu_errors: [{ at_ns: at, gpu: 1, xid: 79, description: "GPU 1 reported Xid 79", times: 4, failed_calls: [{ process: "engine", pid: 5, op: "cudaMalloc", ret_code: 999, calls: 77, after_ns: 2_000_000 }] }],
  rank_events: [
    { id: "r", type: "straggler_state", rank: 5, ranks: 8, at_ns: at + 2e9, since_ns: at, summary: "rank 5 of 8 is slower than its peers" },
    { id: "q", type: "gone", rank: 6, ranks: 8, at_ns: at, ended_ns: at + 1e9, summary: "rank 6 of 8 has ended" },
  ],
  workloads: [{ ...who, steps: 1138, per_step: "20 cudaLaunchKernel", warmup_ns: 3e9, p50_ns: 8_670_000, p99_ns: 90_700_000, trend_pct: -22 }],
  notes: ["a note on what cannot be judged"],
  stored_chains: [{ id: "s", severity: "LOW", summary: "an old finding", root_cause: "old root", explanation: "old explanation", op: "cudaFree", at_ns: at, node: "n9", recommendations: ["old advice"], supported: "the rows say otherwise" }],
};

/** Texts that both views must show. */
const both = [
  "why it is not explained", "1.5 %", "3.4 % explained", "cudaStreamSynchronize", "cuStreamSynchronize", "1.08 min", "a lock", "the-holder", "4711", "/data/the-file", "ended in it", "hangs", "hanging_frame",
  "accept: no request came", "58 %", "memory had run out", "GPU 1 reported Xid 79", "4 times", "999", "77 calls", "2.00 ms later", "1138 steps", "20 cudaLaunchKernel", "3.00 s left out", "-22 %",
  "rank 5 of 8 is slower than its peers", ", not over", "rank 6 of 8 has ended", ", until ",
  "an old finding", "old explanation", "cudaFree", "n9", "old advice", "the rows say otherwise",
];
const said = {
  overview: [...both, "the verdict", "25036", "the note of the window", "a note on what cannot be judged", "61 ", "HIGH", chain.summary, "1.54 s", "12 %", "cpu_contention", "every 400 ms, 23 times"],
  findings: [
    ...both, chain.summary, chain.id, "87.6 %", "428", "67 of 2345 cudaMemcpyAsync calls", "softmax_kernel", "1.23 µs", "45.6 µs", "789 µs", "37.1", "trainer-process", "loader-thread", "tid 4001", "gpu-node-02",
    "the cause in detail", "runnable on CPU 3", "running, a system call", "because", "1.00 s", "inner_frame [libx.so]", "train.py:12 in step", "do this", "or that", "1.48 ms", "24 of 1180", "10.2 ms", "8.83 ms", "15.2 % faster",
    "8.62 ms to 9.03 ms", "What remains: the wait for the loader", "12.4 % of the hold: the holder was on a CPU (388 ms)", "The thread waited in lock_contention.",
    "hog-one", "60.4 %, 930 ms", "hog-two", "its-thread", "39.6 %, 610 ms", "block_io", "4.5 %", "the disk was idle", "the machine was busy", "pod train/llama-0", "rank 3 of 8", "pid 17 inside", "every 400 ms, 23 times",
  ],
};

export async function run(o) {
  const server = await serve(o.ingero, join(o.recordings, "healthy.db"), { home: o.dir });
  const { context, page, faults } = await open(o.browser, server);
  try {
    await context.route("**/api/v1/chains*", (r) => r.fulfill({ json: report }));
    for (const [view, words] of Object.entries(said)) {
      await test(`${view} shows all parts of a report`, async () => {
        await show(page, server, `#/${view}`);
        const marks = await page.locator(".path li").evaluateAll((list) => list.map((li) => getComputedStyle(li, "::before").content));
        const text = `${await page.locator("main").innerText()} ${marks}`.replaceAll("\u202f", "").replace(/\s+/g, " ");
        assert.deepEqual(words.filter((w) => !text.includes(w)), [], `not shown in ${view}: ${text}`);
        if (view === "findings") assert.deepEqual(marks, ["none", '"↳ because"', '"and"']);
        clean(faults);
      });
    }
  } finally {
    await context.close();
    await server.stop();
  }
}
