// Holds pages against axe-core and a few rules of our own. Environment: CONSOLE, CHROMIUM, PICTURES. Standard input is
// JSON: {tokens: {person: token}, visits: [{name, path, wait, person, width, scheme, press, type, cut, ends}]}. Prints JSON: for
// each visit an error if its page did not come, its title and language, what axe found, how much wider than the window
// it is, and what moves on it.
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";

const { CONSOLE, CHROMIUM = "/usr/bin/chromium", PICTURES = "" } = process.env;
const { tokens, visits } = JSON.parse(await text(process.stdin));
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--force-color-profile=srgb"], // no sandbox: CI runs as root
});
const people = new Map();

/** The page of a person, who signs in once; somebody without a token does not. */
async function pageOf(person) {
  const known = people.get(person);
  if (known !== undefined) return known;
  const page = await (await browser.newContext({ reducedMotion: "reduce" })).newPage();
  page.setDefaultTimeout(60_000);
  people.set(person, page);
  if (tokens[person] !== undefined) {
    await page.goto(CONSOLE);
    await page.getByLabel("Token").fill(tokens[person]);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  }
  return page;
}

const seen = (page, words) => page.getByText(words).filter({ visible: true }).first().waitFor();

async function visit({ name, path, wait, person, width, scheme, press, type, cut, ends }) {
  const page = await pageOf(person);
  await page.unrouteAll();
  if (cut) await page.route("**/api/v1/stream*", (route) => route.abort());
  await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
  await page.emulateMedia({ colorScheme: scheme });
  await page.goto(`${CONSOLE}${ends ? "/jobs" : path}`);
  if (ends) {
    await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
    await page.context().clearCookies();
    await page.evaluate((address) => history.pushState({}, "", address), path); // which the router notices
    people.delete(person); // who must sign in again
  }
  if (press) {
    await page.getByRole("button", { name: press, exact: true }).click();
    await page.getByRole("dialog").waitFor();
  }
  if (type) await page.locator("textarea").fill(type);
  await seen(page, wait);
  await page.evaluate(() => document.fonts.ready);
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } });
    return {
      title: document.title,
      lang: document.documentElement.lang,
      wider: document.documentElement.scrollWidth - innerWidth,
      moving: document.getAnimations().map((one) => `${one.animationName ?? "transition"} ${one.effect?.getTiming().duration}`).filter((one) => !one.endsWith(" 0")),
      found: violations.flatMap(({ id, impact, nodes }) =>
        nodes.map(({ target, html, failureSummary }) => ({ rule: id, impact: impact ?? "", where: target.join(" "), html: html.slice(0, 200), why: failureSummary ?? "" })),
      ),
    };
  });
  if (PICTURES !== "") await page.screenshot({ path: `${PICTURES}/access-${name}-${width}-${scheme}.png`, fullPage: press === "" });
  return { name, width, scheme, ...found };
}

/** A page that does not come is a finding among the others. */
async function tried(one) {
  try {
    return { error: "", ...(await visit(one)) };
  } catch (error) {
    const page = people.get(one.person);
    if (PICTURES !== "") await page?.screenshot({ path: `${PICTURES}/access-${one.name}-failed.png` });
    return { name: one.name, width: one.width, scheme: one.scheme, error: String(error), title: "", lang: "", wider: 0, moving: [], found: [] };
  }
}

try {
  const pages = [];
  for (const one of visits) pages.push(await tried(one));
  console.log(JSON.stringify(pages));
} finally {
  await browser.close();
}
