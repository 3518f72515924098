import type { ComponentType } from "preact";
import { CallSites } from "./views/call_sites";
import { Compare } from "./views/compare";
import { Findings } from "./views/findings";
import { Flame } from "./views/flame/flame";
import { Heatmap } from "./views/heatmap/heatmap";
import { Host } from "./views/host";
import { Ledger } from "./views/ledger";
import { Memory } from "./views/memory";
import { NCCL } from "./views/nccl";
import { Overview } from "./views/overview";
import { Timeline } from "./views/timeline/timeline";

export interface View {
  name: string; // in the address
  title: string;
  key: string; // that shows it
  show: ComponentType;
}

/** The views, in the order of their tabs. A new one is a file in views/ and a line here. */
export const views: View[] = [
  { name: "overview", title: "Overview", key: "1", show: Overview },
  { name: "timeline", title: "Timeline", key: "2", show: Timeline },
  { name: "findings", title: "Findings", key: "3", show: Findings },
  { name: "ledger", title: "Ledger", key: "4", show: Ledger },
  { name: "heatmap", title: "Heat map", key: "5", show: Heatmap },
  { name: "flame", title: "Flame graph", key: "6", show: Flame },
  { name: "memory", title: "Memory", key: "7", show: Memory },
  { name: "nccl", title: "NCCL", key: "8", show: NCCL },
  { name: "host", title: "Host", key: "9", show: Host },
  { name: "sites", title: "Call sites", key: "0", show: CallSites },
  { name: "compare", title: "Compare", key: "c", show: Compare },
];
