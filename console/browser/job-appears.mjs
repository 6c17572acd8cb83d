// A person signs in, sees a job appear, and opens it. Environment: JOB, and that of stage.mjs.
import { complaints, page, pictures, play, reached, signIn } from "./stage.mjs";

const { CONSOLE, TOKEN, JOB } = process.env;

await play(
  async () => {
    await page.goto(`${CONSOLE}/jobs`);
    await page.getByLabel("Token").fill("not-a-token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("does not accept this token").waitFor();
    complaints.splice(0); // the browser reports the 401 that was asked for
    await pictures("sign-in");
    await signIn();
    await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
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
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie);
    if (stored.includes(TOKEN)) throw new Error("scripts can read the token");
  },
  /status of 404/, // the deleted job
);
