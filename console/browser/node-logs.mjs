// A log on a real node: followed while the node rotates it, cut off from it while it does; addresses of lines before and
// after pods and job are gone; archived lines of many ranks. Prints figures. Environment: ORDER (JSON), and that of stage.mjs.
import { median } from "./list-pages.mjs";
import { archived, chosen, clicked, opened, print, said, watching } from "./log-pages.mjs";
import { page, pictures, play, reached, signedIn } from "./stage.mjs";

const { CONSOLE } = process.env;
const order = JSON.parse(process.env.ORDER);
const { job, uid, rank, before } = order;
const figures = {};
const numberIn = (text) => Number(/ line (\d+) /.exec(text)[1]);
const end = (part) => page.locator(".line", { hasText: `end of part ${part}` });
const beginning = page.getByText(/Lines before line 1 may be missing/);

const follow = () => page.getByRole("button", { name: "Follow" }).click();

/** The last line of a part, which is in view if the log is followed. */
async function last(part) {
  await end(part).waitFor();
  const number = Number((await end(part).locator(".number").innerText()).replaceAll(",", ""));
  return { number, text: await end(part).locator(".text").innerText() };
}

async function live() {
  await signedIn("/jobs");
  await page.locator(".vrow a").first().waitFor();
  await watching();
  const [some, all] = [[], []];
  for (let again = 0; again < 3; again += 1) {
    all.push(await clicked(".vrow a", said(rank, before)));
    await page.getByRole("link", { name: "Jobs", exact: true }).first().click();
    await page.locator(".vrow a").first().waitFor();
    some.push(await clicked(".vrow a", `rank ${rank} line `));
    await page.getByRole("link", { name: "Jobs", exact: true }).first().click();
    await page.locator(".vrow a").first().waitFor();
  }
  await clicked(".vrow a", said(rank, before));
  figures["first lines of a running pod ms"] = median(some);
  figures["last lines of a running pod ms"] = median(all);
  const early = await chosen(1234);
  await follow();
  await reached("following");
  const ended = await last(1);
  const probes = [ended];
  for (const back of [1, 2_000, 10_000, 30_000, 49_000]) probes.push(await chosen(ended.number - back));
  figures["followed lines with another number"] = probes.filter(({ number, text }) => numberIn(text) !== number).length;
  await reached("cut");
  await page.getByRole("button", { name: "Lines may be missing" }).click();
  await page.getByText(/Lines between .* may be missing/).waitFor();
  figures["gaps shown"] = await page.locator(".line.gap").count();
  await pictures("log-gap");
  await follow();
  const late = await chosen((await last(2)).number);
  figures["lines in the gap"] = numberIn(late.text) - late.number;
  // Who opens it now gets what the node still has.
  figures["addresses that lead elsewhere"] = (await opened(late.address)).text === late.text ? 0 : 1;
  figures["running logs without beginning that say so"] = await beginning.count();
  await page.goto(`${CONSOLE}${job}?pod=${order.name}-worker-0`);
  await page.getByText(said(0, order.lines)).first().waitFor();
  const others = await chosen(777);
  return { early, late, others };
}

async function steps() {
  const { early, late, others } = await live();
  await reached("chosen");
  for (const line of [late, others]) if ((await opened(line.address)).text !== line.text) figures["addresses that lead elsewhere"] += 1;
  await page.getByText("of the archive").waitFor();
  figures["beginnings that are there and called missing"] = await beginning.count();
  await page.goto(early.address);
  await page.getByText("no line of that time was kept").waitFor();
  figures["addresses of lines that are gone and say so"] = 1;
  const lost = new URL(late.address);
  for (const name of ["line", "at"]) lost.searchParams.delete(name);
  await page.goto(String(lost));
  await page.getByText("of the archive").waitFor();
  figures["beginnings that are gone and called missing"] = await beginning.count();
  await pictures("log-rotated");
  await page.goto(`${CONSOLE}${job}/${uid}`);
  Object.assign(figures, await archived(order));
  print(figures);
}

// While the console is dead nobody answers; a line that is gone is a 404.
await play(steps, /status of 404|ERR_|status of 502/);
