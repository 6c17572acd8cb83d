// A person signs in, sees a job appear, and opens it. Prints a line when it waits for something to happen in the
// cluster, and goes on when it reads one. Environment: CONSOLE, TOKEN, JOB, CHROMIUM, PICTURES.
import { once } from "node:events";
import { chromium } from "playwright-core";

const { CONSOLE, TOKEN, JOB, CHROMIUM = "/usr/bin/chromium", PICTURES = "" } = process.env;
const complaints = [];

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--force-color-profile=srgb"], // no sandbox: CI runs as root
});
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
const page = await context.newPage();
page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("request", (request) => {
  const { origin, protocol } = new URL(request.url());
  if (protocol !== "data:" && origin !== new URL(CONSOLE).origin) complaints.push(`a request to ${request.url()}`);
});
await page.addInitScript(() => {
  window.policyReports = [];
  addEventListener("securitypolicyviolation", (event) => window.policyReports.push(`${event.violatedDirective} ${event.blockedURI}`));
});

async function reached(step) {
  console.log(step);
  await once(process.stdin, "data");
}

async function pictures(name) {
  if (PICTURES === "") return;
  for (const width of [1280, 390])
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(200);
      await page.screenshot({ path: `${PICTURES}/${name}-${width}-${colorScheme}.png` });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) complaints.push(`${name} is ${wide} pixels wider than ${width}`);
    }
  await page.setViewportSize({ width: 1280, height: 800 });
}

try {
  await page.goto(`${CONSOLE}/jobs`);
  await page.getByLabel("Token").fill("not-a-token");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("does not accept this token").waitFor();
  complaints.splice(0); // the browser reports the 401 that was asked for
  await pictures("sign-in");
  await page.getByLabel("Token").fill(TOKEN);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  await page.getByText("Live", { exact: true }).first().waitFor();
  await page.evaluate(() => (window.stayed = true));
  await reached("signed in");
  const row = page.getByRole("link", { name: JOB });
  await row.waitFor();
  await reached("the job appeared");
  await page.getByRole("row", { name: new RegExp(`Failed.*${JOB}`) }).waitFor();
  await pictures("jobs");
  await row.click();
  await page.getByRole("heading", { name: JOB }).waitFor();
  await page.getByRole("tab", { name: /Conditions/ }).click();
  await page.getByText("<img src=x onerror=alert(1)>").first().waitFor(); // markup in a message is text
  await pictures("job");
  await reached("the job is open");
  await page.getByText("was deleted").waitFor(); // the page follows the deletion, too
  if (!(await page.evaluate(() => window.stayed))) complaints.push("the page was loaded again");
  complaints.push(...(await page.evaluate(() => window.policyReports)));
  const unexpected = complaints.filter((text) => !/status of 404/.test(text)); // the deleted job
  if (unexpected.length > 0) throw new Error(unexpected.join("\n"));
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie);
  if (stored.includes(TOKEN)) throw new Error("scripts can read the token");
  console.log("done");
} catch (error) {
  if (PICTURES !== "") await page.screenshot({ path: `${PICTURES}/failed.png` });
  console.error(String(error), complaints.join("\n"));
  process.exitCode = 1;
} finally {
  await browser.close();
  process.exit();
}
