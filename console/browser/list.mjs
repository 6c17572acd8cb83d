// How much work the list of jobs is for a browser: paint, scrolling, filter, frames of changes, memory, deleted jobs.
// Environment: CONSOLE, TOKEN, CHROMIUM. Standard input is JSON: {jobs, rounds, far}; `far` is the cursor of the page
// before the far one. Prints figures as JSON. Seconds of work are those of the page's main thread, so a busy machine
// does not change them; what a person waits for is measured by the clock.
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";
import { bareList, follow, median, quantile, trace } from "./list-pages.mjs";

const { CONSOLE, TOKEN, CHROMIUM = "/usr/bin/chromium" } = process.env;
const { jobs, rounds, far } = JSON.parse(await text(process.stdin));
const LOADS = 3;
const STEPS = 100; // frames
const NOTCH = 120; // pixels of one frame, as far as a wheel scrolls at once
const CHANGED = 200; // rows of a frame
const FILTERS = ["state:Failed", "team-3", "", "kind:pytorch state:Running", "job-77", "user-1", "waits: no", "no such job", ""];

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--js-flags=--expose-gc"] });
const context = await browser.newContext({
  viewport: { width: 1440, height: 900 },
  reducedMotion: "reduce",
  extraHTTPHeaders: { Authorization: `Bearer ${TOKEN}` }, // as the proxy in front of the console does
});
const page = await context.newPage();
const errors = [];
page.setDefaultTimeout(60_000);
page.on("pageerror", (error) => errors.push(String(error)));
page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
await page.addInitScript(follow);
const cdp = await context.newCDPSession(page);
await cdp.send("Performance.enable", { timeDomain: "threadTicks" });

const metrics = async () => Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
/** Milliseconds of script, style and layout until now. */
const worked = async () => sum(await parts());
const parts = async () => {
  const now = await metrics();
  return [now.ScriptDuration, now.RecalcStyleDuration, now.LayoutDuration].map((seconds) => seconds * 1000);
};
const sum = (values) => values.reduce((one, other) => one + other, 0);
const heap = async () => {
  await cdp.send("HeapProfiler.collectGarbage");
  return (await metrics()).JSHeapUsedSize / 1e6;
};
const all = `${jobs.toLocaleString("en-US")} live`;
const open = async () => {
  await page.goto(`${CONSOLE}/jobs`);
  await page.getByText(all, { exact: true }).waitFor();
};

async function paint() {
  await open(); // with it the browser has the files
  const [first, usable] = [[], []];
  for (let load = 0; load < LOADS; load += 1) {
    await open();
    first.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
    usable.push(await page.evaluate((words) => window.seenAt(".tablefoot", words), all));
  }
  return { "first paint ms": median(first), "usable ms": median(usable) };
}

/** Frames while the list scrolls by so many pixels with each. */
async function frames(pixels) {
  const found = [];
  for (let step = 1; step <= STEPS; step += 1) {
    const before = await parts();
    await page.evaluate((top) => window.scrolled(top), step * pixels);
    const after = await parts();
    found.push(after.map((value, part) => value - before[part]));
  }
  return found;
}

async function scrolling() {
  const found = await frames(NOTCH);
  const whole = found.map(sum);
  const [script, style, layout] = [0, 1, 2].map((part) => median(found.map((one) => one[part])));
  const dragged = (await frames(await page.evaluate((steps) => window.port().scrollHeight / steps, STEPS + 1))).map(sum);
  return {
    "scroll frame ms": median(whole),
    "scroll frame p95 ms": quantile(whole, 0.95),
    "of it script ms": script,
    "of it style ms": style,
    "of it layout ms": layout,
    "dragged frame ms": median(dragged),
  };
}

/** Frames a second while both lists scroll by themselves, in turns, because the machine may be busy with other things. */
async function beside() {
  const bare = await context.newPage();
  await bare.goto(`${CONSOLE}/assets/none`); // a page of the same origin, without scripts
  await bare.evaluate(bareList, jobs);
  const frames = { console: 0, bare: 0 };
  for (let turn = 0; turn < 4; turn += 1)
    for (const [name, one] of Object.entries({ console: page, bare })) {
      await one.bringToFront();
      await one.evaluate(trace, 100);
      frames[name] += await one.evaluate(trace, 1000);
    }
  await bare.close();
  await page.bringToFront();
  return { "bare frames a second": frames.bare / 4, "frames to those of a bare list": frames.console / frames.bare };
}

async function filters() {
  await page.evaluate(() => window.scrolled(0));
  const [taken, work] = [[], []];
  for (let again = 0; again < 2; again += 1)
    for (const line of FILTERS) {
      const before = await worked();
      taken.push(await page.evaluate((value) => window.filtered(value), line));
      work.push((await worked()) - before);
    }
  return { "filter work ms": median(work), "filter most work ms": Math.max(...work), "filter ms": median(taken) };
}

/** How often the focus on a job's link came to be on another job's: elements of rows are used again. */
async function focus() {
  const begin = async () => {
    await page.evaluate(() => window.scrolled(0));
    await page.locator(".vrow a").first().focus();
    return page.evaluate(() => document.activeElement.textContent);
  };
  const moves = {
    scrolling: () => page.evaluate(() => window.scrolled(window.port().scrollHeight / 2)),
    filter: () => page.evaluate(() => window.filtered("state:Succeeded")),
    order: () => page.evaluate(() => window.filtered("")),
  };
  let lost = 0;
  for (const move of Object.values(moves)) {
    const name = await begin();
    await move();
    const now = await page.evaluate(() => (document.activeElement.closest(".vrow") ? document.activeElement.textContent : ""));
    if (now !== "" && now !== name) lost += 1;
  }
  return { "focus on another job": lost, ...(await rest()) };
}

/** A list that has come to rest after a scroll: its elements in the order of its rows, the focus still on its job. */
async function rest() {
  await page.evaluate(() => window.scrolled(0));
  await page.waitForFunction(() => window.outOfOrder() === 0);
  const link = page.locator('.vrow[aria-rowindex="20"] a');
  await link.focus();
  await page.evaluate(() => window.scrolled(400));
  const moved = await page.evaluate(() => window.outOfOrder());
  await page.waitForFunction(() => window.outOfOrder() === 0);
  const kept = await link.evaluate((element) => element === document.activeElement);
  await page.evaluate(() => window.scrolled(800));
  const chosen = await page.evaluate(() => window.focusedApart());
  await page.keyboard.press("Tab");
  const next = await page.evaluate(() => Number(document.activeElement.closest(".vrow")?.ariaRowIndex));
  return { "rows out of order while it scrolls": moved, "focus lost at rest": kept ? 0 : 1, "Tab to another row than the next": next === chosen + 1 ? 0 : 1 };
}

async function frame(number) {
  const before = await worked();
  await page.evaluate(([count, word]) => window.changed(count, word), [CHANGED, `change ${number}`]);
  return (await worked()) - before;
}

async function changes() {
  const taken = [];
  for (let number = 0; number < 11; number += 1) taken.push(await frame(number));
  return { "frame ms": median(taken), "frame worst ms": Math.max(...taken) };
}

/** The page that somebody looks at all day, in little time. */
async function round(number) {
  for (const part of [0.3, 0.7, 1, 0.5, 0]) await page.evaluate((at) => window.scrolled(at * window.port().scrollHeight), part);
  for (const line of ["state:Failed", "job-1", ""]) await page.evaluate((value) => window.filtered(value), line);
  for (let one = 0; one < 10; one += 1) await frame(`${number}.${one}`);
  await page.locator(".vrow a").first().click();
  await page.getByRole("tab", { name: "Conditions" }).waitFor();
  await page.goBack();
  await page.locator(".vrow").first().waitFor();
}

async function memory() {
  for (let number = 0; number < 5; number += 1) await round(number);
  const before = await heap();
  for (let number = 0; number < rounds; number += 1) await round(`again ${number}`);
  const after = await heap();
  return { "heap MB": after, "tab MB": await resident(), "heap growth %": Math.max(0, (after / before - 1) * 100) };
}

/** What the page's process has for itself, in MB. */
async function resident() {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const sizes = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => readFileSync(`/proc/${id}/smaps_rollup`, "utf8").matchAll(/^Private_\w+: +(\d+) kB$/gm))
    .map((found) => [...found].reduce((sum, [, size]) => sum + Number(size), 0) / 1000);
  return Math.max(...sizes);
}

async function deleted() {
  await page.evaluate(() => window.scrolled(0));
  const [first, last] = [[], []];
  for (let again = 0; again < 7; again += 1) {
    await page.goto(`${CONSOLE}/jobs`);
    await page.getByText(all, { exact: true }).waitFor();
    first.push(await page.evaluate(() => window.pressed('[role="tab"][id$="deleted"]')));
    await page.goto(`${CONSOLE}/jobs?view=deleted&after=${encodeURIComponent(far)}`);
    await page.getByRole("link", { name: "Older" }).waitFor();
    last.push(await page.evaluate(() => window.pressed(".tablefoot a:last-child")));
  }
  return { "first page of deleted ms": median(first), "far page of deleted ms": median(last) };
}

try {
  const figures = {};
  for (const part of [paint, scrolling, beside, filters, focus, changes, ...(far === "" ? [] : [deleted]), memory]) Object.assign(figures, await part());
  console.log(JSON.stringify({ figures: Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Math.round(value * 100) / 100])), errors }));
} finally {
  await browser.close();
}
