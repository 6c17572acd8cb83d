// A person with a keyboard and no mouse: stops of the Tab key, what has the focus, and whether anybody could see that.
import { page } from "./stage.mjs";

export const press = (key) => page.keyboard.press(key);

/** Wait until something has the focus. */
export async function has(target) {
  const limit = Date.now() + 60_000;
  while (!(await isFocused(target))) {
    if (Date.now() > limit) throw new Error(`${target} does not have the focus, but ${await focused()}`);
    await page.waitForTimeout(50);
  }
}

/** Press Tab, or Shift and Tab, until something has the focus; everything on the way must show that it had it. */
export async function tabTo(target, { back = false } = {}) {
  await target.waitFor();
  for (let stop = 0; stop < 80; stop += 1) {
    await press(back ? "Shift+Tab" : "Tab");
    await mustBeSeen();
    if (await isFocused(target)) return;
  }
  throw new Error(`${target} cannot be reached by the Tab key`);
}

const isFocused = async (target) => (await target.count()) > 0 && target.first().evaluate((one) => one === document.activeElement);

export const focused = () => page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200) ?? "nothing");

/** The part of the page that has the focus, with its outline. */
const place = () =>
  page.evaluate(() => {
    const one = document.activeElement;
    const { left, top, right, bottom } = (one.closest(".query, .field") ?? one).getBoundingClientRect();
    const [x, y] = [Math.max(0, left - 4), Math.max(0, top - 4)];
    return { x, y, width: Math.min(innerWidth, right + 4) - x, height: Math.min(innerHeight, bottom + 4) - y };
  });

/** The same part of the page with outlines and without must differ, once it stands still; each element is looked at once. */
async function mustBeSeen() {
  const fresh = await page.evaluate(() => {
    const one = document.activeElement;
    window.looked ??= new WeakSet();
    if (one === null || one === document.body || window.looked.has(one)) return false;
    window.looked.add(one);
    return true;
  });
  if (!fresh) return;
  const limit = Date.now() + 60_000;
  for (;;) {
    const clip = await place();
    if (clip.width <= 0 || clip.height <= 0) throw new Error(`the focus is out of sight: ${await focused()}`);
    const before = await page.screenshot({ clip });
    const bare = await withoutOutlines(() => page.screenshot({ clip }));
    const still = before.equals(await page.screenshot({ clip }));
    // Answers that come meanwhile push down what is below them.
    if (still && JSON.stringify(clip) === JSON.stringify(await place())) {
      if (before.equals(bare)) throw new Error(`nobody sees the focus of ${await focused()}`);
      return;
    }
    if (Date.now() > limit) throw new Error(`what is around ${await focused()} does not stand still`);
  }
}

async function withoutOutlines(look) {
  await page.evaluate(() => {
    const bare = new CSSStyleSheet();
    bare.replaceSync("* { outline: none !important; }");
    document.adoptedStyleSheets = [bare];
  });
  const seen = await look();
  await page.evaluate(() => (document.adoptedStyleSheets = []));
  return seen;
}
