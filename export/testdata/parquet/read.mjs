// Prints the rows of a Parquet file: node read.mjs FILE. Each is a JSON array on a line
// of its own, integers as text. Fails if what the file says of a column is not so.
import fs from "node:fs";
import zlib from "node:zlib";
import { parquetMetadataAsync, parquetReadObjects } from "hyparquet";

const whole = fs.readFileSync(process.argv[2]);
const file = { byteLength: whole.length, slice: async (a, b) => whole.buffer.slice(whole.byteOffset + a, whole.byteOffset + (b ?? whole.length)) };
const asTheyAre = { parsers: { timestampFromNanoseconds: (n) => n } };
const metadata = await parquetMetadataAsync(file, asTheyAre);
const names = metadata.schema.slice(1).map((c) => c.name);

let at = 0;
for (const group of metadata.row_groups) {
  const end = at + Number(group.num_rows);
  const rows = await parquetReadObjects({
    file, metadata, rowStart: at, rowEnd: end, ...asTheyAre,
    compressors: { GZIP: (b) => zlib.gunzipSync(b) },
  });
  if (rows.length !== end - at) throw new Error(`${rows.length} rows in a group of ${end - at}`);
  for (const { meta_data: c } of group.columns) {
    const all = rows.map((r) => r[c.path_in_schema[0]]);
    const there = all.filter((v) => v !== null && v !== undefined);
    const { min_value: min, max_value: max, null_count: nulls } = c.statistics;
    if (Number(nulls) !== all.length - there.length) throw new Error(`${c.path_in_schema}: ${nulls} nulls, and ${all.length - there.length} there`);
    if (min !== undefined && (there.some((v) => v < min || v > max) || !there.includes(min) || !there.includes(max)))
      throw new Error(`${c.path_in_schema}: not all lie between ${min} and ${max}`);
  }
  for (const r of rows) {
    console.log(JSON.stringify(names.map((n) => (typeof r[n] === "bigint" ? String(r[n]) : (r[n] ?? null)))));
  }
  at = end;
}
if (at !== Number(metadata.num_rows)) throw new Error(`${metadata.num_rows} rows, and ${at} in the groups`);
