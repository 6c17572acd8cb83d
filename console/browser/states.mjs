// Windows of several people, which stay open while something breaks. Environment: CONSOLE, CHROMIUM. Each line of
// standard input is a command as JSON, each line of standard output its answer:
// {do: "open", who, token, path}: a window of its own, as behind a proxy that signs people in; {do: "sign in", who,
// token}: in the form, or in the dialog; {do: "visit", who, path, load, words, within}: go there, with the page's own
// links or by loading it, and wait for words; {do: "look", …}: the same, without going anywhere; {do: "type", who, label,
// text}. An answer has what is missing of the words and what the window shows.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const { CONSOLE, CHROMIUM = "/usr/bin/chromium" } = process.env;
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] }); // no sandbox: CI runs as root
const windows = new Map();

async function open({ who, token = "", path }) {
  const headers = token === "" ? {} : { extraHTTPHeaders: { Authorization: `Bearer ${token}` } };
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...headers });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const found = { page, errors: [], loads: 0 };
  page.on("pageerror", (error) => found.errors.push(String(error)));
  page.on("load", () => (found.loads += 1));
  windows.set(who, found);
  await page.goto(`${CONSOLE}${path}`);
}

async function signIn({ who, token }) {
  const { page } = windows.get(who);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const shown = (page) =>
  page.evaluate(() => ({
    text: document.body.innerText,
    main: document.getElementById("main")?.innerText ?? "",
    heading: document.querySelector("#main h1")?.innerText ?? "",
    links: document.querySelectorAll('nav[aria-label="Main"] a').length,
    stale: document.getElementById("main")?.classList.contains("stale") ?? false,
    skeleton: [...document.querySelectorAll("#main .skeleton")].some((one) => one.checkVisibility()),
    dialog: document.querySelector("dialog[open]")?.getAttribute("aria-label") ?? "",
    typed: [...document.querySelectorAll("#main input[type=search]")].map((one) => one.value),
    path: location.pathname + location.search,
  }));

const plain = (text) => text.replace(/\s+/g, " ");

async function look({ who, words = [], within = 30_000, skeleton = false }) {
  const window = windows.get(who);
  const until = Date.now() + within;
  for (;;) {
    const now = await shown(window.page);
    const missing = words.filter((word) => !plain(now.text).includes(word));
    if ((missing.length === 0 && (!skeleton || now.skeleton)) || Date.now() > until)
      return { ...now, missing, errors: window.errors.splice(0), loads: window.loads };
    await window.page.waitForTimeout(100);
  }
}

async function visit(command) {
  const { who, path, load = false } = command;
  const { page } = windows.get(who);
  if (load) await page.goto(`${CONSOLE}${path}`);
  else await page.evaluate((address) => history.pushState({}, "", address), path); // which the router notices
  await page.waitForFunction((address) => location.pathname + location.search === address, path);
  return look(command);
}

async function type({ who, label, text }) {
  await windows.get(who).page.getByLabel(label).fill(text);
}

const doing = { open, "sign in": signIn, look, visit, type };
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    console.log(JSON.stringify((await doing[command.do](command)) ?? {}));
  } catch (error) {
    console.log(JSON.stringify({ failed: `${command.do} ${command.path ?? ""}: ${error}` }));
  }
}
await browser.close();
