// The log of a running pod with a gap, the address of one of its lines before and after the job is gone, and archived
// lines of many ranks. Prints figures. Environment: ORDER (JSON), and that of stage.mjs.
import { archived, chosen, clicked, opened, print, said, watching } from "./log-pages.mjs";
import { page, pictures, play, reached, signedIn } from "./stage.mjs";

const { CONSOLE } = process.env;
const order = JSON.parse(process.env.ORDER);
const { job, uid, before, after } = order;
const figures = {};
const row = (number) => page.getByText(said(0, number), { exact: false });

async function live() {
  await signedIn("/jobs");
  await page.locator(".vrow a").first().waitFor();
  await watching();
  figures["first lines of a running pod ms"] = await clicked(".vrow a", said(0, before));
  const first = await chosen(1234);
  await reached("following");
  await page.getByRole("button", { name: "Lines may be missing" }).click();
  await page.getByText(/Lines between .* may be missing/).waitFor();
  await row(before).waitFor();
  await row(after).waitFor();
  figures["gaps shown"] = await page.locator(".line.gap").count();
  // What came after the gap has another number in the archive; its time tells which line it is.
  return { first, second: await chosen(before + 50) };
}

async function steps() {
  const { first, second } = await live();
  await pictures("log-live");
  await reached("chosen");
  // The job is gone: the same address, opened anew.
  const later = await opened(second.address);
  await page.getByText("of the archive").waitFor();
  const other = new URL(first.address);
  other.searchParams.delete("at");
  const earlier = await opened(other);
  figures["addresses that lead elsewhere"] = [later.text !== second.text, later.number !== after + 49, earlier.text !== first.text].filter(Boolean).length;
  await pictures("log-archived");
  await page.goto(`${CONSOLE}${job}/${uid}`);
  Object.assign(figures, await archived(order));
  print(figures);
}

await play(steps, /status of 404/); // why the job waits: of it the API server knows nothing
