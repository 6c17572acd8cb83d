// A console below a path of a host that has other programs too: nothing is asked of them. Environment: that of stage.mjs.
import { page, play, reached, signedIn } from "./stage.mjs";

const { CONSOLE } = process.env;
const { pathname } = new URL(CONSOLE);

await play(async () => {
  await signedIn("/jobs");
  await page.getByRole("heading", { name: "Jobs", exact: true }).waitFor();
  await reached("signed in");
  await page.getByRole("link", { name: "came-later" }).waitFor(); // by the stream
  const fonts = await page.evaluate(() => document.fonts.ready.then((all) => [...all].filter(({ status }) => status === "loaded").length));
  if (fonts === 0) throw new Error("no font was loaded");
  await page.waitForFunction(() => [...document.images].every(({ complete }) => complete));
  const marks = await page.evaluate(() => [...document.images].filter(({ naturalWidth }) => naturalWidth === 0).length);
  if (marks > 0) throw new Error("a picture was not loaded");
  for (const title of ["Overview", "Models", "Services", "Queues", "Nodes", "Crons", "Cost"]) {
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: title, exact: true }).click();
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    if (!page.url().startsWith(`${CONSOLE}/`)) throw new Error(`${title} is at ${page.url()}`);
    await page.waitForFunction((wanted) => document.title === wanted, `${title} · KubeDL`);
  }
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await page.getByRole("link", { name: "came-later" }).click();
  await page.getByRole("heading", { name: "came-later" }).waitFor();
  const links = await page.evaluate(() => [...document.querySelectorAll("a[href]")].map((one) => one.getAttribute("href")));
  const outside = links.filter((link) => !link.startsWith("#") && link !== pathname && !link.startsWith(`${pathname}/`));
  if (outside.length > 0) throw new Error(`links that lead elsewhere: ${outside}`);
  // The same address in a new window, where the cookie is enough.
  const again = await page.context().newPage();
  await again.goto(page.url());
  await again.getByRole("heading", { name: "came-later" }).waitFor();
  await again.goto(CONSOLE);
  await again.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  const cookies = await page.context().cookies();
  if (cookies.length !== 1 || cookies[0].path !== pathname) throw new Error(`the cookie is for ${cookies.map(({ path }) => path)}`);
  await again.close();
  await page.getByRole("button", { name: "Sign out" }).first().click();
  await page.getByLabel("Token").waitFor();
  if ((await page.context().cookies()).length > 0) throw new Error("the cookie stays after signing out");
});
