// Opens pages as somebody and prints what is on them. Environment: CONSOLE, TOKEN, CHROMIUM. Standard input is JSON:
// {width, height, visits: [{path, wait, picture, tabs, scroll}]}. Prints JSON: the text and the tables of each page, what
// ran, what the content policy reported, and what was asked of other origins.
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";

const { CONSOLE, TOKEN, CHROMIUM = "/usr/bin/chromium" } = process.env;
const { width = 1280, height = 900, visits } = JSON.parse(await text(process.stdin));
const found = { pages: [], ran: [], reports: [], foreign: [], errors: [], markup: [] };

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--force-color-profile=srgb"] });
const context = await browser.newContext({
  viewport: { width, height },
  reducedMotion: "reduce",
  extraHTTPHeaders: { Authorization: `Bearer ${TOKEN}` }, // as the proxy in front of the console does
});
const page = await context.newPage();
page.setDefaultTimeout(60_000);
page.on("pageerror", (error) => found.errors.push(String(error)));
page.on("dialog", (dialog) => {
  found.ran.push(`dialog ${dialog.message()}`);
  void dialog.dismiss();
});
page.on("console", (message) => message.type() === "error" && found.errors.push(`${message.text()} ${message.location().url}`));
page.on("request", (request) => {
  const { origin, protocol } = new URL(request.url());
  if (protocol !== "data:" && origin !== new URL(CONSOLE).origin) found.foreign.push(request.url());
});
await page.exposeFunction("told", (kind, words) => found[kind].push(words));
await page.addInitScript(() => {
  for (const name of ["alert", "prompt", "confirm", "xss"]) window[name] = (words) => window.told("ran", `${name} ${words}`);
  addEventListener("securitypolicyviolation", (event) => window.told("reports", `${event.violatedDirective} ${event.blockedURI}`));
});

const read = () =>
  page.evaluate(() => ({
    text: document.body.innerText,
    tables: [...document.querySelectorAll("table")].map((table) => ({
      name: table.closest("[aria-label]")?.getAttribute("aria-label") ?? "",
      rows: [...table.querySelectorAll("tbody tr")].map((row) => [...row.cells].map((cell) => cell.innerText)),
    })),
    sections: Object.fromEntries(
      [...document.querySelectorAll("section[aria-label]")].map((one) => [one.getAttribute("aria-label"), one.innerText]),
    ),
  }));

// Elements and attributes that no page of the console has: they would come from somebody's text.
const strange = () =>
  page.evaluate(() =>
    [...document.querySelectorAll("body *")]
      .filter(
        (one) =>
          [...one.attributes].some(({ name }) => name.startsWith("on")) ||
          ["IFRAME", "OBJECT", "EMBED", "VIDEO", "AUDIO", "MARQUEE", "BASE", "META", "MATH"].includes(one.tagName) ||
          (one.tagName === "SCRIPT" && one.src === "") ||
          ["href", "src", "action", "formaction"].some((name) => /^\s*(java|vb|data:text)/i.test(one.getAttribute(name) ?? "")),
      )
      .map((one) => one.outerHTML.slice(0, 200)),
  );

try {
  for (const { path, wait, picture, tabs = [], scroll = 0 } of visits) {
    await page.goto(`${CONSOLE}${path}`);
    await page.getByText(wait).first().waitFor();
    await page.waitForTimeout(300);
    const seen = { path, ...(await read()) };
    for (const tab of tabs) {
      await page.getByRole("tab", { name: new RegExp(tab) }).click();
      await page.waitForTimeout(300);
      seen.text += `\n${(await read()).text}`;
    }
    for (let step = 0; step < scroll; step += 1) {
      await page.mouse.move(width / 2, height / 2);
      await page.mouse.wheel(0, height / 2);
      await page.waitForTimeout(50);
      seen.text += `\n${(await read()).text}`;
    }
    found.markup.push(...(await strange()));
    if (picture !== undefined) await page.screenshot({ path: picture });
    found.pages.push(seen);
  }
} catch (error) {
  found.errors.push(`${page.url()}: ${error}\n${await page.locator("body").innerText()}`);
} finally {
  await browser.close();
}
console.log(JSON.stringify(found));
