// Two people look at every page: Ada, who may see almost everything, and Ben, who may list jobs of one namespace only.
// A second console has a cluster without other people's kinds. Environment: CONSOLE, BARE, CHROMIUM, PICTURES, ONLY (the
// name of one page).
import { chromium } from "playwright-core";
import { absent, forbidden, pages } from "./page-checks.mjs";

const { CONSOLE, BARE, CHROMIUM = "/usr/bin/chromium", PICTURES = "", ONLY = "" } = process.env;
const complaints = [];
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--force-color-profile=srgb"] });

async function signedIn(token, console = CONSOLE) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 403/.test(message.text())) complaints.push(message.text());
  });
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== "data:" && origin !== new URL(console).origin) complaints.push(`a request to ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.policyReports = [];
    addEventListener("securitypolicyviolation", (event) => window.policyReports.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.goto(console);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return page;
}

/** Pictures of the whole page, and that no width makes the page itself scroll sideways. */
async function pictures(page, name) {
  for (const width of [1280, 390])
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(150);
      if (PICTURES !== "") await page.screenshot({ path: `${PICTURES}/${name}-${width}-${colorScheme}.png`, fullPage: true });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) complaints.push(`${name} is ${wide} pixels wider than ${width}`);
    }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
}

async function visit(page, name, path, check, console = CONSOLE) {
  if (ONLY !== "" && !name.startsWith(ONLY)) return;
  try {
    await page.goto(`${console}${path}`);
    await check(page);
    await pictures(page, name);
    complaints.push(...(await page.evaluate(() => window.policyReports)));
  } catch (error) {
    complaints.push(`${name}: ${error}`);
    if (PICTURES !== "") await page.screenshot({ path: `${PICTURES}/${name}-failed.png` });
  }
}

try {
  const ada = await signedIn("token-of-ada");
  for (const [name, path, check] of pages) await visit(ada, name, path, check);
  const ben = await signedIn("token-of-ben");
  for (const [name, path, check] of forbidden) await visit(ben, `${name}-forbidden`, path, check);
  const bare = await signedIn("token-of-ada", BARE);
  for (const [name, path, check] of absent) await visit(bare, `${name}-absent`, path, check, BARE);
} catch (error) {
  complaints.push(String(error));
} finally {
  await browser.close();
}
if (complaints.length > 0) {
  console.error(complaints.join("\n"));
  process.exit(1);
}
console.log("done");
