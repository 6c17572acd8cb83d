// The whole way of a model, by one person and without loading the page again: a job is submitted by the form, waits, runs,
// becomes a version that is served, and is deleted and found again. Environment: NAMESPACE, IMAGE, COMMAND, JOB, MODEL,
// REPOSITORY, CLAIM, SERVICE, and that of stage.mjs. After each step a line of JSON has its name and what the page said; the reply is what
// the next step needs.
import { page, pictures, play, reached, signedIn } from "./stage.mjs";

const { NAMESPACE, IMAGE, COMMAND, MODEL, REPOSITORY, CLAIM, SERVICE, JOB: FIRST } = process.env;
const LATEST = 300_000; // milliseconds for what images are pulled and packed for
const WEIGHTS = { a: 30, b: 50, c: 20 };

const field = (name) => page.getByLabel(name, { exact: true });
const button = (name) => page.getByRole("button", { name, exact: true });
const dialog = page.getByRole("dialog");
const yaml = page.getByLabel("YAML of the job");
const state = (word) => page.locator(".head").getByText(word, { exact: true });
const region = (name) => page.getByRole("region", { name, exact: true });
const text = async (place) => (await place.innerText()).replace(/\s+/g, " ").trim();
const step = async (name, said = {}) => JSON.parse(await reached(JSON.stringify({ step: name, ...said })));
const open = (title) => page.getByRole("navigation", { name: "Main" }).first().getByRole("link", { name: title }).click();

const MODEL_VERSION = `  modelVersion:
    modelName: ${MODEL}
    imageRepo: ${REPOSITORY}
    registry:
      insecure: true
    storage:
      claim:
        claimName: ${CLAIM}
`;

async function submit() {
  await page.getByRole("link", { name: "Submit" }).click();
  await field("Name").fill(FIRST);
  await field("Namespace").fill(NAMESPACE);
  await field("Image").fill(IMAGE);
  await field("Command").fill(COMMAND);
  await page.getByRole("group", { name: "Master" }).getByLabel("GPUs each").fill("1");
  await yaml.fill((await yaml.inputValue()).replace("spec:\n", `spec:\n${MODEL_VERSION}`));
  await button("Check").click();
  await page.getByText("The API server would take it").waitFor();
  await button("Submit").click();
  await page.getByRole("heading", { name: FIRST, exact: true }).waitFor();
  await step("submitted", { name: FIRST });
}

/** The why box when it has the sentence of the rules, which is about the GPU that no node has. */
async function waits() {
  const why = page.locator('section[aria-label="Why"]').filter({ hasText: /^\s*Why/ }).filter({ hasText: /gpu/i });
  await why.waitFor();
  await pictures("way-waits");
  await step("waits", { why: await text(why.locator(".why span").first()) });
}

/** Lines come while the page is open: the last one is another than the first that was seen. */
async function followed() {
  await state("Running").waitFor({ timeout: LATEST });
  const log = page.getByRole("log");
  const last = async () => (await log.locator(".line .text").allInnerTexts()).at(-1) ?? "";
  await log.getByText(/^step \d+/).first().waitFor();
  const before = await last();
  await page.waitForFunction((seen) => [...document.querySelectorAll("[role=log] .line .text")].at(-1)?.innerText !== seen, before);
  await pictures("way-runs");
  await step("followed", { before, after: await last() });
  await state("Succeeded").waitFor({ timeout: LATEST });
}

/** The version that a job left, once its image is built. */
async function version(job) {
  await open("Models");
  await page.getByRole("link", { name: MODEL, exact: true }).click();
  const row = region("Versions").getByRole("row").filter({ hasText: job }).filter({ has: page.locator("code") });
  await row.waitFor({ timeout: LATEST });
  const digest = await row.locator("code").getAttribute("title");
  const name = await text(row.locator("td.title a"));
  await pictures("way-model");
  return step("version", { job, name, digest });
}

/** A service for a version, written in the page that begins with it: the predictors are those that the reply has. */
async function serve({ name, manifest }) {
  await page.getByRole("link", { name: `Serve ${name}`, exact: true }).click();
  const written = page.getByLabel("YAML of the service");
  if (!(await written.inputValue()).includes(`modelVersion: ${name}`)) throw new Error("the YAML does not begin with the version");
  await written.fill(manifest);
  await button("Check").click();
  await page.getByText("The API server would take it").waitFor();
  await pictures("way-serve");
  await button("Submit").click();
  await page.getByRole("heading", { name: "Services", exact: true }).waitFor();
}

async function service() {
  await open("Services");
  await page.getByRole("link", { name: SERVICE, exact: true }).click();
  await page.getByRole("heading", { name: SERVICE, exact: true }).waitFor();
}

async function served() {
  await service();
  await state("Ready").waitFor({ timeout: LATEST });
  await step("served", { predictors: await region("Predictors").getByRole("row").allInnerTexts() });
}

async function weights() {
  await button("Change weights").click();
  for (const [name, weight] of Object.entries(WEIGHTS)) await dialog.getByLabel(`Weight of ${name}`, { exact: true }).fill(`${weight}`);
  await dialog.getByText("20 %").waitFor();
  await dialog.getByRole("button", { name: "Apply" }).click();
  await dialog.waitFor({ state: "detached" });
  for (const [name, weight] of Object.entries(WEIGHTS))
    await region("Predictors").getByRole("row", { name: new RegExp(`^${name} .* ${weight} ${weight} % `) }).waitFor();
  await pictures("way-weights");
  await step("weights", WEIGHTS);
}

/** The job once more, from a copy of it: its version is what is rolled out. */
async function again() {
  await open("Jobs");
  await page.getByRole("link", { name: FIRST, exact: true }).click();
  await button("Submit again").click();
  await page.waitForFunction((name) => document.querySelector("textarea")?.value.includes(`name: ${name}-r2`), FIRST);
  await button("Submit").click();
  await page.getByRole("heading", { name: `${FIRST}-r2`, exact: true }).waitFor();
  await state("Running").waitFor({ timeout: LATEST });
  await step("again", { name: `${FIRST}-r2` });
  await state("Succeeded").waitFor({ timeout: LATEST });
}

async function promoted(next) {
  await service();
  await button("Change version").click();
  await dialog.getByLabel("Version", { exact: true }).fill(next);
  await pictures("way-change-version");
  await dialog.getByRole("button", { name: "Apply" }).click();
  await dialog.waitFor({ state: "detached" });
  const rollout = page.getByRole("region", { name: "Rollout of a", exact: true });
  await rollout.getByText("Stepping", { exact: true }).waitFor({ timeout: LATEST });
  await pictures("way-rollout");
  await step("stepping");
  await rollout.getByRole("button", { name: "Promote" }).click();
  await dialog.getByRole("button", { name: "Promote" }).click();
  await rollout.waitFor({ state: "detached", timeout: LATEST });
  await region("Predictors").getByRole("row").filter({ hasText: next }).filter({ hasText: "30 %" }).waitFor();
  await step("promoted");
}

async function deleted(job) {
  await open("Jobs");
  await page.getByRole("link", { name: job, exact: true }).click();
  await button("Delete").click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
  await page.getByRole("link", { name: job, exact: true }).waitFor({ state: "detached" });
  await step("deleted", { job });
}

/** In the list of deleted jobs, and from the model that it made. */
async function found(job) {
  await page.getByRole("tab", { name: "Deleted" }).click();
  await page.locator('section[aria-label="Deleted jobs"]').getByRole("link", { name: job, exact: true }).click();
  await page.getByRole("heading", { name: job, exact: true }).waitFor();
  const receipt = await text(region("Lines of the receipt"));
  const events = await text(region("Events"));
  await page.getByRole("link", { name: /^Log of / }).click();
  const log = page.getByRole("log");
  await log.getByText(/^step \d+/).first().waitFor();
  await pictures("way-found");
  const said = { receipt, events, log: await log.locator(".line .text").allInnerTexts() };
  await open("Models");
  await page.getByRole("link", { name: MODEL, exact: true }).click();
  const answer = await text(page.locator('section[aria-label="Lineage"] .answer'));
  const part = page.locator(".part").filter({ hasText: job }).filter({ hasText: "deleted" });
  await part.first().waitFor();
  await pictures("way-lineage");
  await page.getByRole("link", { name: `Open ${job}`, exact: true }).click();
  await page.getByText("There is no receipt").or(region("Lines of the receipt")).first().waitFor();
  await step("found", { ...said, answer, part: await text(page.locator("h1")) });
}

await play(async () => {
  await signedIn("/");
  await submit();
  await waits();
  await followed();
  await serve(await version(FIRST));
  await served();
  await weights();
  await again();
  const { name } = await version(`${FIRST}-r2`);
  await promoted(name);
  await deleted(`${FIRST}-r2`);
  await found(`${FIRST}-r2`);
});
