// What scripts about logs share: when a line is in view, addresses of lines, and figures of logs of the archive.
import { median } from "./list-pages.mjs";
import { page, pictures } from "./stage.mjs";

export const said = (rank, number) => `rank ${rank} line ${number} `;

/** Watches what is drawn: milliseconds until a line is in view, by the page's own clock. */
export async function watching() {
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

/** Milliseconds from a click to the lines that it shows. */
export const clicked = (selector, words) => page.evaluate(([one, text]) => window.clicked(one, text), [selector, words]);

/** Go to a line by its number. Returns what it says, and the address that leads to it. */
export async function chosen(number) {
  await page.getByLabel("Go to line").fill(`${number}`);
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`line=${number}(&|$)`));
  await page.locator(".line.chosen .number", { hasText: new RegExp(`^${number.toLocaleString("en-US")}$`) }).waitFor();
  return { ...(await lineChosen()), address: page.url() };
}

/** Open an address of a line. Returns what that line says, and its number. */
export async function opened(address) {
  await page.goto(String(address));
  await page.locator(".line.chosen").waitFor();
  return lineChosen();
}

async function lineChosen() {
  const line = page.locator(".line.chosen");
  const number = Number((await line.locator(".number").innerText()).replaceAll(",", ""));
  return { number, text: await line.locator(".text").innerText() };
}

/** First lines, jumps and search in archived logs of many ranks, on the page of their job. */
export async function archived({ logs, lines, needle, needleRank, needleLine, looked }) {
  await page.getByRole("link", { name: "Log of worker-0", exact: true }).waitFor();
  await watching();
  const [firstLines, jumps] = [[], []];
  for (const rank of looked) {
    firstLines.push(await clicked(`[aria-label="Log of worker-${rank}"]`, said(rank, 1)));
    for (const part of [0.5, 0.93, 0.21, 1, 0.66]) {
      const middle = part === 1 ? lines : Math.round(part * (lines - 23)) + 12;
      jumps.push(await page.evaluate(([at, words]) => window.dragged(at, words), [part, said(rank, middle)]));
    }
  }
  const texts = await page.locator(".logport .line").evaluateAll((found) => found.map((one) => [one.querySelector(".number").textContent, one.querySelector(".text").textContent]));
  const found = await searched({ logs, needle, needleRank, needleLine });
  return {
    "first lines ms": median(firstLines),
    "jump ms": median(jumps),
    "slowest jump ms": Math.max(...jumps),
    "lines with another number": texts.filter(([number, text]) => !text.includes(`line ${number.replace(",", "")} `)).length,
    ...found,
  };
}

async function searched({ logs, needle, needleRank, needleLine }) {
  const began = performance.now();
  await page.getByLabel("Search all logs").fill(needle);
  await page.keyboard.press("Enter");
  await page.getByText(`in ${logs} of ${logs} logs`).waitFor();
  const whole = performance.now() - began;
  const lines = await page.locator(".hit").count();
  await page.getByRole("button", { name: new RegExp(`worker-${needleRank}`) }).click();
  await page.locator(".line.chosen", { hasText: `line ${needleLine} ${needle}` }).waitFor();
  await pictures("log-found");
  // Something that is everywhere is there at once.
  const again = performance.now();
  await page.getByLabel("Search all logs").fill("loss 0.5");
  await page.keyboard.press("Enter");
  await page.locator(".hit").first().waitFor();
  return { "search of all ms": whole, "lines found": lines, "first hit ms": performance.now() - again };
}

/** The last thing that a script prints. */
export function print(figures) {
  console.log(JSON.stringify(Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Math.round(value)]))));
}
