// Costs, the list of deleted jobs, and one of them. Environment: STATE (full, absent: no history, down: its database does
// not answer), JOB, and that of stage.mjs.
import { page, pictures, play, signedIn } from "./stage.mjs";

const { STATE, JOB } = process.env;

const sees = async (...texts) => {
  for (const text of texts) await page.getByText(text).first().waitFor();
};
const never = async (text) => {
  if ((await page.locator("body").innerText()).match(text) !== null) throw new Error(`the page says ${text}`);
};

async function full() {
  await signedIn("/cost");
  await page.getByRole("row", { name: /nlp .* EUR/ }).waitFor();
  await page.getByRole("row", { name: /research no price/ }).waitFor(); // unknown, not 0
  await sees("1 namespace is hidden", "without a price", "Jobs that have not ended are not included.");
  await never("of-others");
  await never("secret");
  await never(/(^|[^\d.,])0\.00 EUR/);
  await pictures("cost");
  await page.getByRole("button", { name: "Last 90 days" }).click();
  await page.waitForURL(/days=90/);
  await page.getByRole("listitem").filter({ hasText: /EUR/ }).nth(20).waitFor({ state: "attached" });
  await page.getByRole("button", { name: "vision" }).click();
  await page.waitForURL(/ns=vision/);
  await page.getByRole("row", { name: /tomas.k .*100.0 %/ }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await page.getByRole("tab", { name: "Deleted" }).click();
  await sees("from the history", "1 namespace is hidden");
  await never("of-others");
  await pictures("jobs-deleted");
  // Pages follow one another, and each has an address.
  const top = page.locator('section[aria-label="Deleted jobs"] tbody tr:first-child td.title');
  const names = () => page.locator('section[aria-label="Deleted jobs"] tbody a').allInnerTexts();
  const newest = await names();
  const seen = [...newest];
  for (let older = 1; older <= 2; older += 1) {
    const before = await top.textContent();
    await page.getByRole("link", { name: "Older" }).click();
    await top.filter({ hasNotText: before }).waitFor();
    seen.push(...(await names()));
  }
  if (newest.length !== 20 || seen.length !== 60) throw new Error(`pages of ${newest.length}, ${seen.length} rows in three`);
  await page.goBack();
  await page.goBack();
  await page.waitForURL((url) => !url.searchParams.has("after"));
  await page.getByRole("link", { name: newest[0], exact: true }).first().waitFor();
  await page.getByRole("link", { name: "Older" }).click();
  await page.getByRole("link", { name: "Newest" }).click();
  await page.waitForURL((url) => !url.searchParams.has("after"));
  await page.getByLabel("Filter").fill("ns:vision state:failed");
  await sees("5 from the history"); // the rows of all namespaces are gone
  await page.getByRole("row", { name: /vision \/ sweep-29 .*Failed/ }).waitFor();
  await page.getByLabel("Filter").fill("ns:nlp,vision");
  await sees("one value of ns: at a time");
  await page.getByLabel("Filter").fill("ns:secret");
  await sees("May not list");
  await page.getByLabel("Filter").fill("hostile");
  await sees("<img src=x onerror=alert(1)>"); // markup in a name is text
  await page.getByLabel("Filter").fill(JOB);
  await page.getByRole("link", { name: JOB }).click();
  await page.getByRole("heading", { name: JOB }).waitFor();
  await sees("all 1 replicas succeeded", "s3://kubedl-logs/", `kubedl history logs ${JOB} --namespace nlp`, "has succeeded", "144.27 EUR", "mei.lin");
  await pictures("job-deleted");
  // A job that is gone, in the lineage of the model that it made.
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.getByRole("link", { name: "llama3-8b-sft" }).click();
  await sees("deleted, 16 GPUs, 3 h 18, mei.lin", "instruct-mix/v11");
  await pictures("model-history");
  await page.getByRole("button", { name: /^llama3-8b-sft-2 / }).click();
  await page.getByRole("link", { name: "Open llama3-8b-sft-2" }).click();
  await page.getByRole("heading", { name: "llama3-8b-sft-2" }).waitFor();
}

async function absent() {
  await signedIn("/cost");
  await sees("The history is not installed.", "console.history.databaseSecret");
  await pictures("cost-absent");
  await page.getByRole("link", { name: "Jobs", exact: false }).first().click();
  await page.getByRole("tab", { name: "Deleted" }).click();
  await sees("The history is not installed.");
  // Nor is there a Prometheus: nothing that is not known is 0.
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await sees("this console has no Prometheus to ask", "operator.prometheus");
  await page.getByRole("link", { name: "support-chat" }).click();
  await page.getByRole("row", { name: /main canary .* 25 % not known not known not known/ }).waitFor();
  await sees("this console has no Prometheus to ask");
  await pictures("service-unmeasured");
}

async function down() {
  await signedIn("/cost");
  await sees("The history cannot be read now.", "Try again");
  await never("127.0.0.1");
  await pictures("cost-down");
  await page.getByRole("link", { name: "Overview" }).first().click();
  await sees("free of 48");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await sees("The history cannot be read now.");
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.getByRole("link", { name: "llama3-8b-sft" }).click();
  await sees("known by their names alone: the history cannot be read now.", "support-chat");
}

await play({ full, absent, down }[STATE], /status of (403|503)/);
