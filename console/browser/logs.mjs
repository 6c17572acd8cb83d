// The log of a running pod with a gap, the address of one of its lines before and after the job is gone, and a million
// archived lines of many ranks. Prints figures. Environment: ORDER (JSON), and that of stage.mjs.
import { median } from "./list-pages.mjs";
import { page, pictures, play, reached, signedIn } from "./stage.mjs";

const { CONSOLE } = process.env;
const { ranks, lines, needle, needleRank, needleLine, job, uid, before, after } = JSON.parse(process.env.ORDER);
const figures = {};
const row = (rank, number) => page.getByText(`rank ${rank} line ${number} `, { exact: false });

/** Watches what is drawn: milliseconds until a line is in view, by the page's own clock. */
async function watching() {
  await page.evaluate(() => {
    window.stayed = true;
    window.untilLine = (begin, words) =>
      new Promise((resolve, reject) => {
        const began = performance.now();
        const limit = setTimeout(() => reject(new Error(`no line with ${words}`)), 30_000);
        const look = () => {
          const port = document.querySelector(".logport");
          const there = port && [...port.querySelectorAll(".line")].some((line) => {
            const [box, frame] = [line.getBoundingClientRect(), port.getBoundingClientRect()];
            return line.textContent.includes(words) && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 18;
          });
          if (!there) return void requestAnimationFrame(look);
          clearTimeout(limit);
          resolve(performance.now() - began);
        };
        begin();
        look();
      });
    window.clicked = (selector, words) => window.untilLine(() => document.querySelector(selector).click(), words);
    /** Drag the scroll bar to a part of the whole. */
    window.dragged = (part, words) => {
      const port = document.querySelector(".logport");
      return window.untilLine(() => (port.scrollTop = part * (port.scrollHeight - port.clientHeight)), words);
    };
  });
}

async function live() {
  await signedIn("/jobs");
  await page.locator(".vrow a").first().waitFor();
  await watching();
  figures["first lines of a running pod ms"] = await page.evaluate((words) => window.clicked(".vrow a", words), `rank 0 line ${before} `);
  await page.getByLabel("Go to line").fill("1234");
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`/${uid}\\?.*line=1234`));
  await page.locator(".line.chosen").waitFor();
  const first = await page.locator(".line.chosen .text").innerText();
  await reached("following");
  await page.getByRole("button", { name: "Lines may be missing" }).click();
  await page.getByText(/Lines between .* may be missing/).waitFor();
  await row(0, before).waitFor();
  await row(0, after).waitFor();
  figures["gaps shown"] = await page.locator(".line.gap").count();
  // What came after the gap has another number in the archive; its time tells which line it is.
  await page.getByLabel("Go to line").fill(`${before + 50}`);
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`line=${before + 50}`));
  await page.getByText(`line ${after + 49} `).first().waitFor();
  const second = await page.locator(".line.chosen .text").innerText();
  return { first, second, address: page.url() };
}

async function steps() {
  const seen = await live();
  await pictures("log-live");
  await reached("chosen");
  let wrong = 0;
  // The job is gone: the same address, opened anew.
  await page.goto(seen.address);
  await page.locator(".line.chosen").waitFor();
  await page.getByText("of the archive").waitFor();
  if ((await page.locator(".line.chosen .text").innerText()) !== seen.second) wrong += 1;
  if ((await page.locator(".line.chosen .number").innerText()) !== (after + 49).toLocaleString("en-US")) wrong += 1;
  const other = new URL(seen.address);
  other.searchParams.set("line", "1234");
  other.searchParams.delete("at");
  await page.goto(String(other));
  await page.locator(".line.chosen").waitFor();
  if ((await page.locator(".line.chosen .text").innerText()) !== seen.first) wrong += 1;
  figures["addresses that lead elsewhere"] = wrong;
  await pictures("log-archived");

  await page.goto(`${CONSOLE}${job}/${uid}`);
  await page.getByRole("link", { name: "Log of worker-0", exact: true }).waitFor();
  await watching();
  const [opened, jumps] = [[], []];
  for (const rank of [3, 17, 31, 8, 24]) {
    opened.push(await page.evaluate(([selector, words]) => window.clicked(selector, words), [`[aria-label="Log of worker-${rank}"]`, `rank ${rank} line 1 `]));
    for (const part of [0.5, 0.93, 0.21, 1, 0.66]) {
      const number = Math.min(lines, Math.max(1, Math.round(part * lines)));
      const middle = part === 1 ? lines : Math.round(part * (lines - 23)) + 12;
      jumps.push(await page.evaluate(([at, words]) => window.dragged(at, words), [part, `rank ${rank} line ${part === 1 ? number : middle} `]));
    }
  }
  figures["first lines ms"] = median(opened);
  figures["jump ms"] = median(jumps);
  figures["slowest jump ms"] = Math.max(...jumps);

  const texts = await page.locator(".logport .line").evaluateAll((found) => found.map((one) => [one.querySelector(".number").textContent, one.querySelector(".text").textContent]));
  figures["lines with another number"] = texts.filter(([number, text]) => !text.includes(`line ${number.replace(",", "")} `)).length;

  const began = performance.now();
  await page.getByLabel("Search all logs").fill(needle);
  await page.keyboard.press("Enter");
  await page.getByText(`in ${ranks} of ${ranks} logs`).waitFor();
  figures["search of all ms"] = performance.now() - began;
  figures["lines found"] = await page.locator(".hit").count();
  await page.getByRole("button", { name: new RegExp(`worker-${needleRank}`) }).click();
  await page.locator(".line.chosen", { hasText: `line ${needleLine} ${needle}` }).waitFor();
  await pictures("log-found");
  // Something that is everywhere is there at once.
  const again = performance.now();
  await page.getByLabel("Search all logs").fill("loss 0.5");
  await page.keyboard.press("Enter");
  await page.locator(".hit").first().waitFor();
  figures["first hit ms"] = performance.now() - again;
  await page.evaluate(() => (window.stayed = true));
  console.log(JSON.stringify(Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Math.round(value)]))));
}

await play(steps, /status of 404/); // why the job waits: of it the API server knows nothing
