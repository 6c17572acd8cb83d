// Opens the console as somebody, again for each question, clicks, and prints what then stands in some places.
// Environment: CONSOLE, TOKEN, CHROMIUM. Standard input is JSON: [{id, clicks: [{role, name, inside}], reads: {name: {place,
// until}}}]; `inside` and `place` are selectors, `until` is a pattern that the text has when the answer is there. Instead of
// being clicked, a field may be given a `text`. Prints JSON: for each its texts by place, clicks and seconds since the
// address was opened.
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";

const { CONSOLE, TOKEN, CHROMIUM = "/usr/bin/chromium" } = process.env;
const PATIENCE = 60_000; // milliseconds; an answer that comes so late is read all the same, and is late
const questions = JSON.parse(await text(process.stdin));
const found = [];

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--force-color-profile=srgb"] });
for (const { id, clicks, reads } of questions) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
    timezoneId: "UTC",
    extraHTTPHeaders: { Authorization: `Bearer ${TOKEN}` }, // as the proxy in front of the console does
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  const texts = {};
  const began = performance.now();
  try {
    await page.goto(`${CONSOLE}/`);
    for (const { role, name, inside = "body", text: typed } of clicks) {
      const target = page.locator(inside).getByRole(role, { name: new RegExp(name) }).first();
      await (typed === undefined ? target.click() : target.fill(typed));
    }
    for (const [key, { place, until }] of Object.entries(reads)) {
      const there = page.locator(place).filter({ hasText: new RegExp(until) }).filter({ visible: true }).first();
      await there.waitFor();
      texts[key] = await page.locator(place).allInnerTexts();
    }
  } catch (error) {
    errors.push(`${page.url()}: ${error}\n${await page.locator("body").innerText()}`);
  }
  found.push({ id, clicks: clicks.filter((one) => one.text === undefined).length, seconds: (performance.now() - began) / 1000, texts, errors });
  await context.close();
}
await browser.close();
console.log(JSON.stringify(found));
