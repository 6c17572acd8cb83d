import { expect, test } from "vitest";
import { compareTimes, emptyWords, inPlaceOfLines, leftOutWords, LogLines, MOST_LINES, parseLine, plain, silenceBefore } from "./log";

const T = "2026-11-18T00:00:0";
const texts = (log: LogLines): string[] => log.lines().map(({ text }) => text);

test("lines that were read stay while nobody answers, and not after a right is taken away", () => {
  expect([inPlaceOfLines(0, 502), inPlaceOfLines(9, 502), inPlaceOfLines(9, 404), inPlaceOfLines(9, 403)]).toEqual([true, false, false, true]);
});

test("what could not be read is not nothing", () => {
  const of = (state: "live" | "ended" | "cut"): string => emptyWords({ state, lines: [] }, false);
  expect([of("live"), of("ended"), of("cut")]).toEqual(["Nothing was printed yet.", "Nothing was printed.", ""]);
  const lines = [{ time: "", text: "a", number: 1 }];
  expect([emptyWords({ state: "cut", lines }, true), emptyWords({ state: "live", lines: [] }, true)]).toEqual(["No line has this text.", "Nothing was printed yet."]);
});

test("after a cut no line comes twice and none is lost", () => {
  const sent = [`${T}1.1Z a`, `${T}1.5Z b`, `${T}1.5Z c`, `${T}1.5Z d`, `${T}1.50001Z e`, `${T}2Z f`].map((line) => `${line}\n`);
  const whole = sent.join("");
  for (let cut = 0; cut <= whole.length; cut += 1) {
    const log = new LogLines();
    log.push(whole.slice(0, cut));
    const since = log.resume();
    // The server rounds the time down to a second, and sends all lines from there on.
    log.push(sent.filter((line) => since === "" || line.slice(0, 19) >= since.slice(0, 19)).join(""));
    expect(texts(log)).toEqual(["a", "b", "c", "d", "e", "f"]);
  }
});

test("the last line of a container that has ended needs no line break", () => {
  const log = new LogLines();
  log.push(`${T}1Z a\n${T}2Z result: 42`);
  expect(texts(log)).toEqual(["a"]);
  expect([log.end(), log.end()]).toEqual([true, false]);
  expect(texts(log)).toEqual(["a", "result: 42"]);
});

test("a line that does not end fills no memory", () => {
  const log = new LogLines();
  log.push(`${T}1Z `);
  for (let part = 0; part < 3000; part += 1) log.push("x".repeat(10_000));
  log.push(`\n${T}2Z b\n`);
  expect(texts(log).map(({ length }) => length < 20_000)).toEqual([true, true]);
  expect(texts(log)[0]).toMatch(/^x+…$/);
  expect(texts(log)[1]).toBe("b");
});

test("what the node has rotated away while the connection was cut is a gap", () => {
  const log = new LogLines();
  log.push(`${T}1.1Z a\n${T}1.5Z b\n`);
  log.resume();
  log.push(`${T}4.2Z x\n${T}4.3Z y\n`);
  expect(log.lines().map(({ text, number }) => (number === 0 ? "gap" : text))).toEqual(["a", "b", "gap", "x", "y"]);
  expect(log.lines()[2]?.text).toContain("between 00:00:01 and 00:00:04");
  log.resume(); // the gap itself is no line that could come again
  log.push(`${T}4.2Z x\n${T}4.3Z y\n${T}5Z z\n`);
  expect(texts(log).filter((text) => text.length === 1)).toEqual(["a", "b", "x", "y", "z"]);
  expect(log.lines().map(({ number }) => number)).toEqual([1, 2, 0, 3, 4, 5]);
});

test("a cut without a loss is no gap", () => {
  const log = new LogLines();
  log.push(`${T}1.1Z a\n${T}1.5Z b\n`);
  log.resume();
  log.push(`${T}1.5Z b\n${T}4Z c\n`);
  expect(texts(log)).toEqual(["a", "b", "c"]);
});

test("times are compared to the nanosecond", () => {
  expect(compareTimes(`${T}1Z`, `${T}1.000000001Z`)).toBeLessThan(0);
  expect(compareTimes(`${T}1.5Z`, `${T}1.50Z`)).toBe(0);
  expect(compareTimes(`${T}2Z`, `${T}1.9Z`)).toBeGreaterThan(0);
});

test("a log that begins long after its container did may have lost lines", () => {
  const first = { time: "2026-11-18T01:00:00.123456789Z", text: "step 9", number: 1 };
  expect(silenceBefore(first, "2026-11-18T00:30:00Z")).toBe(30 * 60_000);
  expect(silenceBefore(first, "2026-11-18T00:59:30Z")).toBe(0); // it took so long to start
  expect(silenceBefore(first, "2026-11-18T02:00:00Z")).toBe(0); // of an earlier run
  expect([silenceBefore(first, null), silenceBefore(undefined, "2026-11-18T00:30:00Z")]).toEqual([0, 0]);
});

test("a line without a time is shown whole", () => {
  expect(parseLine("failed to read the log")).toEqual({ time: "", text: "failed to read the log" });
  expect(parseLine(`${T}1Z`)).toEqual({ time: `${T}1Z`, text: "" });
});

test("codes of terminals are left out", () => {
  expect(plain("\u001b[31mred\u001b[0m\u0007\tx")).toBe("red\tx");
});

test("an answer of as many lines as are kept may not be all", () => {
  expect([leftOutWords(9, 0), leftOutWords(MOST_LINES, 0), leftOutWords(MOST_LINES, 1200)]).toEqual(["", ", older ones may be left out", ", 1,200 older ones left out"]);
});

test("memory is bounded", () => {
  const log = new LogLines();
  log.push(Array.from({ length: MOST_LINES + 5 }, (_, index) => `${T}1Z ${index}\n`).join(""));
  expect([log.lines().length, log.dropped, log.lines()[0]?.text]).toEqual([MOST_LINES, 5, "5"]);
});
