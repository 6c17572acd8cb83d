// What scripts on a real control plane share: a browser with somebody signed in, pictures, and what must never happen.
// Environment: CONSOLE, TOKEN, CHROMIUM, PICTURES.
import { once } from "node:events";
import { chromium } from "playwright-core";

const { CONSOLE, TOKEN, CHROMIUM = "/usr/bin/chromium", PICTURES = "" } = process.env;
export const complaints = [];
const HOME = CONSOLE.endsWith("/") ? CONSOLE : `${CONSOLE}/`; // the host, and the path if it is below one

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--force-color-profile=srgb"], // no sandbox: CI runs as root
});
const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
export const page = await context.newPage();
page.setDefaultTimeout(60_000);
page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("request", (request) => {
  const { protocol } = new URL(request.url());
  if (protocol !== "data:" && !request.url().startsWith(HOME)) complaints.push(`a request to ${request.url()}`);
});
await page.addInitScript(() => {
  window.policyReports = [];
  addEventListener("securitypolicyviolation", (event) => window.policyReports.push(`${event.violatedDirective} ${event.blockedURI}`));
});

/** Open a page of the console as the owner of the token. */
export async function signedIn(path) {
  await page.goto(`${CONSOLE}${path}`);
  await signIn();
}

/** Sign in on the page that asks for a token; it must not be loaded again from then on. */
export async function signIn() {
  await page.getByLabel("Token").fill(TOKEN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Live", { exact: true }).first().waitFor();
  await page.evaluate(() => (window.stayed = true));
}

/** Say that a step is reached, and wait until the test says that the cluster is ready for the next. */
export async function reached(step) {
  console.log(step);
  await once(process.stdin, "data");
}

export async function pictures(name) {
  for (const width of [1440, 390])
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(200);
      if (PICTURES !== "") await page.screenshot({ path: `${PICTURES}/${name}-${width}-${colorScheme}.png` });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) complaints.push(`${name} is ${wide} pixels wider than ${width}`);
    }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
}

/** Run the steps; anything that a browser complains about, except for what is allowed, is a failure. */
export async function play(steps, allowed = /^$/) {
  try {
    await steps();
    if (!(await page.evaluate(() => window.stayed))) complaints.push("the page was loaded again");
    complaints.push(...(await page.evaluate(() => window.policyReports)));
    const unexpected = complaints.filter((text) => !allowed.test(text));
    if (unexpected.length > 0) throw new Error(unexpected.join("\n"));
    console.log("done");
  } catch (error) {
    if (PICTURES !== "") await page.screenshot({ path: `${PICTURES}/failed.png` });
    console.error(String(error), complaints.join("\n"));
    process.exitCode = 1;
  } finally {
    await browser.close();
    process.exit();
  }
}
