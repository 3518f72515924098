// Writes src/wire.d.ts, the types of what the API answers, from docs/openapi.json, which is
// generated from the Go types.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const path = (to) => fileURLToPath(new URL(to, import.meta.url));
const text = readFileSync(path("../../../docs/openapi.json"), "utf8").replaceAll("#/components/schemas/", "#/definitions/");
const definitions = JSON.parse(text).components.schemas;
const types = await compile({ definitions }, "Answers", {
  additionalProperties: false,
  bannerComment: "// Made of docs/openapi.json by make web. DO NOT EDIT.",
  style: { printWidth: 120 },
  unreachableDefinitions: true,
});
writeFileSync(path("src/wire.d.ts"), types);
