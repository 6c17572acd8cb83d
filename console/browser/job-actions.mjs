// A person suspends a job, resumes it and deletes it, by keyboard and mouse. Environment: JOB, OTHER (whose job of the
// same name follows), and that of stage.mjs.
import { page, pictures, play, reached, signedIn } from "./stage.mjs";

const { JOB, OTHER } = process.env;
const button = (name) => page.getByRole("button", { name, exact: true });
const dialog = page.getByRole("dialog");

/** Wait until the console knows that the job of this page is of somebody. */
async function known(user) {
  const limit = Date.now() + 60_000;
  const now = () => page.evaluate(async () => (await (await fetch(`/api/v1${location.pathname}`)).json()).job?.user);
  while ((await now()) !== user) {
    if (Date.now() > limit) throw new Error(`the job of ${user} is not known`);
    await page.waitForTimeout(100);
  }
}

await play(
  async () => {
    await signedIn("/jobs");
    await page.getByRole("link", { name: JOB }).click();
    await button("Suspend").click();
    await dialog.getByText(`Suspend PyTorchJob`).waitFor();
    await dialog.getByText(`/${JOB}?`).waitFor();
    await dialog.getByText("none are created until somebody resumes it").or(dialog.getByText("No pods are created")).first().waitFor();
    await pictures("job-suspend");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await button("Suspend").focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter"); // on "Keep it as it is": Enter alone loses nothing
    await dialog.waitFor({ state: "detached" });
    await button("Suspend").click();
    await dialog.getByRole("button", { name: "Suspend" }).click();
    await button("Resume").waitFor(); // the stream has told it
    await reached("suspended");
    await button("Resume").click();
    await button("Suspend").waitFor();
    await reached("resumed");
    await button("Delete").click();
    await dialog.getByText(`Delete PyTorchJob`).waitFor();
    await pictures("job-delete");
    await reached("asked"); // somebody else deletes the job and makes another of its name
    await known(OTHER); // until then there may be no job of this name
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText("another job of the same name").waitFor();
    await dialog.getByRole("button", { name: "Keep it as it is" }).click();
    await page.getByRole("link", { name: "Jobs" }).first().click();
    await page.getByRole("row", { name: new RegExp(`${JOB}.*${OTHER}`) }).getByRole("link", { name: JOB }).click();
    await page.locator(".head").getByText(OTHER).waitFor(); // the page may still be that of the first job
    await button("Delete").click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    await page.getByRole("link", { name: JOB }).waitFor({ state: "detached" });
    await reached("deleted");
    await page.getByRole("link", { name: "read-only" }).click(); // of somebody who may only read it
    await page.getByText("You may not suspend: the right to patch tfjobs.training.kubedl.io").waitFor();
    if (!(await button("Delete").isDisabled())) throw new Error("a button that cannot work is on");
    await pictures("job-read-only");
  },
  /status of 40[49]/, // the job that was replaced, and those that are gone
);
