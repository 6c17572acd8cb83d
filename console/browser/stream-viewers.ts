// Viewers with the page's own code for lists and streams, without a browser around it. Environment: CONSOLE, TOKENS (a
// JSON list). Reads lines: `cut 3` breaks the connections of viewer 3 from its side, `state` prints the rows of all.
import { AsyncLocalStorage } from "node:async_hooks";
import { createInterface } from "node:readline";
import { Live } from "../src/live/connection";
import { Rows } from "../src/live/rows";

const { CONSOLE = "", TOKENS = "[]" } = process.env;
const whose = new AsyncLocalStorage<Viewer>();
const fetched = globalThis.fetch;

class Viewer {
  readonly rows = new Rows();
  readonly live = new Live(this.rows, () => (this.signedOut = true));
  readonly open = new Set<AbortController>();
  signedOut = false;

  constructor(readonly token: string) {}
}

// The page asks its own origin, and its cookie says who asks.
globalThis.fetch = async (path, options = {}) => {
  const viewer = whose.getStore();
  if (viewer === undefined) throw new Error("nobody asks");
  const cut = new AbortController();
  viewer.open.add(cut);
  options.signal?.addEventListener("abort", () => cut.abort());
  const headers = { ...(options.headers as Record<string, string>), Authorization: `Bearer ${viewer.token}` };
  return fetched(`${CONSOLE}${String(path)}`, { ...options, headers, signal: cut.signal });
};

const viewers = (JSON.parse(TOKENS) as string[]).map((token) => new Viewer(token));
for (const viewer of viewers) whose.run(viewer, () => viewer.live.start());

for await (const line of createInterface({ input: process.stdin })) {
  const [word, number] = line.split(" ");
  const viewer = viewers[Number(number)];
  if (word === "cut" && viewer !== undefined) {
    for (const one of viewer.open) one.abort();
    viewer.open.clear();
  }
  if (word === "state") console.log(JSON.stringify(viewers.map(({ rows, signedOut }) => ({ rows: rows.all(), signedOut }))));
}
process.exit();
