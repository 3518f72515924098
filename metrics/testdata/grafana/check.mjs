// Checks a dashboard: node check.mjs FILE. It must be what Grafana's own types say a
// dashboard is, and its queries what Prometheus's grammar says is PromQL.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { parser } from "@prometheus-io/lezer-promql";

const here = path.dirname(fileURLToPath(import.meta.url));
const source = fs.readFileSync(process.argv[2], "utf8");
const dashboard = JSON.parse(source);
let wrong = 0;
const say = (what) => (wrong++, console.error(what));

// The types have enumerations, JSON their values.
let program = `import type { Dashboard, GraphFieldConfig, VizLegendOptions, VizTooltipOptions } from "@grafana/schema";
type Plain<T> = T extends string ? \`\${T}\` : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
export const dashboard: Plain<Dashboard> = ${source};
`;
for (const p of dashboard.panels.filter((p) => p.type === "timeseries")) {
  program += `export const lines${p.id}: Plain<GraphFieldConfig> = ${JSON.stringify(p.fieldConfig.defaults.custom)};
export const options${p.id}: Plain<{ legend: VizLegendOptions; tooltip: VizTooltipOptions }> = ${JSON.stringify(p.options)};
`;
}
const file = path.join(here, "node_modules", `dashboard-${process.pid}.ts`);
fs.writeFileSync(file, program);
const checked = ts.createProgram([file], {
  noEmit: true, strict: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
});
for (const d of ts.getPreEmitDiagnostics(checked)) {
  const at = d.file ? d.file.text.split("\n")[d.file.getLineAndCharacterOfPosition(d.start).line].trim() : "";
  say(`Grafana's types: ${ts.flattenDiagnosticMessageText(d.messageText, os.EOL)} at ${at.slice(0, 100)}`);
}
fs.rmSync(file);

let queries = 0;
for (const p of dashboard.panels) {
  for (const t of p.targets ?? []) {
    queries++;
    const expr = t.expr.replaceAll("$__rate_interval", "1m").replace(/\$\w+/g, "x");
    parser.parse(expr).iterate({
      enter: (n) => n.type.isError && say(`${p.title}: no PromQL at ${expr.slice(n.from, n.to + 20)} in ${t.expr}`),
    });
  }
}
if (queries === 0) say("there are no queries");
process.exit(wrong ? 1 : 0);
