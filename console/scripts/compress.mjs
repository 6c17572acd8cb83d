// Compresses the built files in their place, compares their sizes with the budgets, and writes which packages are in
// them, for the bill of materials of the image.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const KB = 1000;
const BUDGETS = { first: 260 * KB, all: 500 * KB, fonts: 90 * KB }; // gzip, except fonts, which are compressed already
const directory = new URL("../../src/kubedl/console/static/", import.meta.url);
const page = readFileSync(new URL("index.html", directory), "utf8");
const sizes = { first: gzipSync(page).length, all: gzipSync(page).length, fonts: 0 };

for (const name of readdirSync(new URL("assets/", directory))) {
  const file = new URL(`assets/${name}`, directory);
  const content = readFileSync(file);
  if (name.endsWith(".woff2")) {
    sizes.fonts += content.length;
    continue;
  }
  const gzip = gzipSync(content, { level: 9 });
  // All browsers take gzip, also without TLS: a second copy would only make the package larger.
  writeFileSync(`${file.pathname}.gz`, gzip);
  rmSync(file);
  sizes.all += gzip.length;
  if (page.includes(name)) sizes.first += gzip.length;
  console.log(`${String(gzip.length).padStart(8)} ${name}`);
}

for (const [part, size] of Object.entries(sizes)) {
  const fits = size <= BUDGETS[part];
  console.log(`${part}: ${(size / KB).toFixed(1)} KB of ${BUDGETS[part] / KB} KB${fits ? "" : ", too large"}`);
  if (!fits) process.exitCode = 1;
}

const { packages } = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8"));
const bundled = Object.entries(packages)
  .filter(([place, one]) => place !== "" && !one.dev)
  .map(([place, { version }]) => ({ name: place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length), version }));
writeFileSync(new URL("packages.json", directory), JSON.stringify(bundled, null, 1));
