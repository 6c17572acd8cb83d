// What list.mjs does inside of pages. Each function is sent to the browser as text, and uses nothing from outside.

export const quantile = (values, part) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))];
export const median = (values) => quantile(values, 0.5);

/** Runs before the page's own scripts: notes when what is awaited appeared, and lets a test add frames to the stream. */
export function follow() {
  const seen = new Map();
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const look = () => {
    for (const one of document.querySelectorAll(".tablefoot > span")) if (!seen.has(one.textContent)) seen.set(one.textContent, performance.now());
  };
  document.addEventListener("DOMContentLoaded", () => new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true }));
  window.seenAt = (_, words) => seen.get(words);
  window.port = () => document.querySelector(".vport");

  const drawn = () => [...document.querySelectorAll(".vrow")].map((row) => ({ row, number: Number(row.ariaRowIndex) }));

  /** Rows whose element comes after that of a later row. */
  window.outOfOrder = () => drawn().filter(({ number }, place, rows) => number < rows[place - 1]?.number).length;

  /** Give the focus to a job after whose element another one comes than that of the next job, if there is one; its number. */
  window.focusedApart = () => {
    const rows = drawn();
    const apart = rows.find(({ number }, place) => rows[place + 1]?.number !== number + 1 && rows.some((other) => other.number === number + 1));
    const { row, number } = apart ?? rows[12];
    row.querySelector("a").focus({ preventScroll: true });
    return number;
  };

  /** Scroll, until the rows of that place are drawn. */
  window.scrolled = async (top) => {
    await nextFrame();
    window.port().scrollTop = top;
    await nextFrame();
    await nextFrame();
  };

  const until = (done) =>
    new Promise((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error(`not within 20 s: ${done}`)), 20_000);
      const check = () => done() && (clearTimeout(limit), watcher.disconnect(), resolve(performance.now()));
      const watcher = new MutationObserver(check);
      watcher.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
      check();
    });

  /** Milliseconds from a new filter to its rows. */
  window.filtered = async (value) => {
    const field = document.querySelector(".query input");
    if (field.value === value) return 0;
    const shown = () => document.querySelector(".head .dim").textContent;
    const before = shown();
    const began = performance.now();
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, value);
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    const ended = await until(() => shown() !== before);
    await nextFrame();
    return ended - began;
  };

  /** Milliseconds from a click to a page of deleted jobs that was not there. */
  window.pressed = async (selector) => {
    const first = () => document.querySelector('section[aria-label="Deleted jobs"] tbody tr a')?.textContent ?? "";
    const before = first();
    const began = performance.now();
    document.querySelector(selector).click();
    const ended = await until(() => first() !== "" && first() !== before);
    await nextFrame();
    return ended - began;
  };

  const original = window.fetch;
  let rows = [];
  let epoch = "";
  let position = 0;
  let send;
  window.fetch = async (input, init) => {
    const answer = await original(input, init);
    if (String(input) === "/api/v1/jobs") {
      const list = await answer.clone().json();
      rows = list.rows;
      [epoch, position] = [list.cursor.split("-")[0], Number(list.cursor.split("-")[1])];
    }
    if (String(input) !== "/api/v1/stream") return answer;
    const reader = answer.body.getReader();
    const body = new ReadableStream({
      async start(controller) {
        send = (event) => controller.enqueue(new TextEncoder().encode(event));
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          controller.enqueue(value);
        }
      },
      cancel: () => reader.cancel(),
    });
    return new Response(body, { headers: answer.headers });
  };

  /** A frame in which so many rows have changed, drawn. One of them is the first row of the list. */
  window.changed = async (count, word) => {
    const name = document.querySelector(".vrow a").textContent;
    const start = Math.max(0, rows.findIndex((row) => row.name === name) - count / 2);
    const some = rows.slice(start, start + count).map((row) => ({ ...row, message: word }));
    position += 1;
    const data = JSON.stringify({ rows: some, gone: [], touched: [] });
    await nextFrame();
    send(`event: frame\nid: ${epoch}-${position}-view\ndata: ${data}\n\n`);
    await until(() => document.querySelector(".vport").textContent.includes(word));
    await nextFrame();
    await nextFrame();
  };
}

/** A list of text alone, with as many rows and as high: what a browser can do at best. */
export function bareList(count) {
  document.body.innerHTML = '<div class="vport" style="height:590px;overflow:auto;position:relative;contain:strict"><div style="position:relative"></div></div>';
  const port = document.querySelector(".vport");
  const space = port.firstChild;
  space.style.height = `${count * 36}px`;
  const lines = Array.from({ length: 42 }, () => {
    const line = document.createElement("div");
    line.style.cssText = "position:absolute;inset:0 0 auto;height:36px;line-height:36px;white-space:pre;font:13px sans-serif";
    return space.appendChild(line);
  });
  const draw = () => {
    const first = Math.max(0, Math.floor(port.scrollTop / 36) - 12);
    for (const [index, line] of lines.entries()) {
      line.textContent = `Running    job-${first + index}  team-${index}    PyTorch    user    8    4/4    a line of text about this job    25 min`;
      line.style.transform = `translateY(${(first + index) * 36}px)`;
    }
  };
  port.addEventListener("scroll", draw);
  draw();
}

/** Scroll as fast as frames come; how many came. */
export async function trace(milliseconds) {
  const port = document.querySelector(".vport");
  const end = performance.now() + milliseconds;
  let frames = 0;
  while (performance.now() < end) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    port.scrollTop = (port.scrollTop + 120) % (port.scrollHeight - port.clientHeight);
    frames += 1;
  }
  return frames;
}
