// Bundles the page into dist/, which is committed: cargo needs no npm. `node build.mjs` writes it anew.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Bytes of all files, compressed: more is not sent to anybody. */
const MOST = 60 * 1024;

await build({
  entryPoints: ["src/main.tsx", "src/style.css"],
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
});

// The address of a file has the digest of its content, so that browsers may keep it for ever.
let page = readFileSync("src/index.html", "utf8");
let sum = 0;
for (const name of ["main.js", "style.css"]) {
  const content = readFileSync(`dist/${name}`);
  const digest = createHash("sha256").update(content).digest("hex").slice(0, 16);
  page = page.replace(`/assets/${name}`, `/assets/${name}?${digest}`);
  sum += gzipSync(content, { level: 9 }).length;
}
writeFileSync("dist/index.html", page);
sum += gzipSync(page).length;
console.log(`the page has ${(sum / 1024).toFixed(1)} KiB, compressed; at most ${MOST / 1024}`);
if (sum > MOST) process.exit(1);
