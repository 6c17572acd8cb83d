// A person without a mouse finds a job, reads its log, suspends and resumes it, submits another and deletes that.
// Environment: JOB, NAMESPACE, LAST_LINE, and that of stage.mjs.
import { focused, has, press, tabTo } from "./keys.mjs";
import { page, play, reached } from "./stage.mjs";

const { CONSOLE, TOKEN, JOB, NAMESPACE, LAST_LINE } = process.env;
const button = (name) => page.getByRole("button", { name, exact: true });
const heading = (name) => page.getByRole("heading", { level: 1, name, exact: true });
const dialog = page.getByRole("dialog");
const main = page.locator("#main");

/** A page that was just opened: its heading, its title, and the focus at its beginning. */
async function opened(name, title) {
  await heading(name).waitFor();
  await has(main);
  await page.waitForFunction((wanted) => document.title === wanted, `${title} · KubeDL`); // a dialog that closes gives the focus back before it
}

async function stays(key, times) {
  for (let turn = 0; turn < times; turn += 1) {
    await press(key);
    if (!(await page.evaluate(() => document.activeElement?.closest("dialog") !== null))) throw new Error(`${key} left the dialog for ${await focused()}`);
  }
}

const scrolledTo = (test) => page.waitForFunction(test, null, { timeout: 60_000 });

async function finds() {
  await page.goto(`${CONSOLE}/`);
  await tabTo(page.getByLabel("Token"));
  await page.keyboard.type(TOKEN);
  await press("Enter");
  await page.getByText("Live", { exact: true }).first().waitFor();
  await page.evaluate(() => (window.stayed = true));
  await press("Tab");
  await has(page.getByRole("link", { name: "Skip to content" }));
  await press("Enter");
  await has(main);
  await press("Tab");
  if (!(await page.evaluate(() => document.activeElement?.closest("main") !== null))) throw new Error(`past the navigation is ${await focused()}`);
  await press("g");
  await press("j");
  await opened("Jobs", "Jobs");
  await tabTo(page.getByRole("tab", { name: /All/ }));
  await tabTo(page.getByLabel("Filter"));
  await page.keyboard.type(JOB);
  await page.getByText("1 shown").waitFor();
  await tabTo(page.getByRole("link", { name: JOB }));
  await press("Enter");
  await opened(JOB, `${JOB} · Jobs`);
}

async function reads() {
  await tabTo(page.getByRole("tab", { name: /Pods and log/ }));
  await press("ArrowRight");
  await has(page.getByRole("tab", { name: /Conditions/, selected: true }));
  await press("Home");
  await has(page.getByRole("tab", { name: /Pods and log/, selected: true }));
  await tabTo(page.getByRole("log"));
  await page.getByText(LAST_LINE).waitFor();
  await press("PageUp");
  await scrolledTo(() => document.querySelector(".logport").scrollTop + 600 < document.querySelector(".logport").scrollHeight);
  await page.getByRole("button", { name: "Follow", pressed: false }).waitFor();
  await tabTo(button("Follow"), { back: true });
  await press("Space");
  await page.getByText(LAST_LINE).waitFor();
}

async function suspendsAndResumes() {
  await tabTo(button("Suspend"), { back: true });
  await press("Enter");
  await has(dialog.getByRole("button", { name: "Keep it as it is" }));
  await stays("Tab", 4);
  await stays("Shift+Tab", 4);
  await press("g");
  await press("j"); // a key of the page does nothing while it asks something
  await dialog.waitFor();
  await press("Escape");
  await dialog.waitFor({ state: "detached" });
  await has(button("Suspend"));
  await press("Enter");
  await press("Enter"); // on "Keep it as it is"
  await dialog.waitFor({ state: "detached" });
  await has(button("Suspend"));
  await press("Enter");
  await tabTo(dialog.getByRole("button", { name: "Suspend" }));
  await press("Space");
  await dialog.waitFor({ state: "detached" });
  await has(button("Resume")); // the same button, which has another name now
  await reached("suspended");
  await press("Enter");
  await has(button("Suspend"));
  await reached("resumed");
}

async function submits() {
  await tabTo(page.getByRole("link", { name: "Submit" }), { back: true });
  await press("Enter");
  await opened("Submit a job", "Submit a job");
  for (const [name, text] of [["Name", "by-keys"], ["Namespace", NAMESPACE], ["Image", "train:1"]]) {
    await tabTo(page.getByLabel(name, { exact: true }));
    await page.keyboard.type(text);
  }
  await tabTo(page.getByLabel("YAML of the job"));
  await tabTo(button("Check"));
  await press("Enter");
  await page.getByText("The API server would take it").waitFor();
  await has(button("Check"));
  await tabTo(button("Submit"));
  await press("Space");
  await opened("by-keys", "by-keys · Jobs");
  await reached("submitted");
}

async function deletes() {
  await tabTo(button("Delete"));
  await press("Enter");
  await tabTo(dialog.getByRole("button", { name: "Delete" }));
  await press("Enter");
  await opened("Jobs", "Jobs");
  await page.getByRole("link", { name: "by-keys" }).waitFor({ state: "detached" });
  await reached("deleted");
}

await play(
  async () => {
    await finds();
    await reads();
    await suspendsAndResumes();
    await submits();
    await deletes();
  },
  /status of 40[34]/, // the nodes, which this person may not list, and the job that is gone
);
