import { expect, test } from "vitest";
import type { StartPage } from "../api/wire";
import { moment } from "./format";
import { startWords } from "./start";

const CREATED = "2026-11-18T12:00:00Z";
const page: StartPage = { installed: true, waits: 40, enough: 20, halfSeconds: 600, mostSeconds: 3600, queue: "gpus", leastGpus: 4, mostGpus: 16, days: 30 };
const after = (minutes: number) => startWords(page, CREATED, Date.parse(CREATED) + minutes * 60_000);
const at = (minutes: number, now: number): string => moment(new Date(Date.parse(CREATED) + minutes * 60_000).toISOString(), Date.parse(CREATED) + now * 60_000);

test("times that have passed are not said", () => {
  const said = "half of 40 similar jobs waited 10 min, nine of ten 1 h 00";
  expect(after(5)).toEqual({ known: true, value: at(10, 5), more: `likely by ${at(60, 5)}: ${said}` });
  expect(after(30)).toEqual({ known: true, value: `by ${at(60, 30)}`, more: said });
  expect(after(61).value).toBe("later than usual");
});

test("what is not known is said with its reason", () => {
  const few = startWords({ ...page, waits: 1, halfSeconds: null, mostSeconds: null }, CREATED, 0);
  expect(few).toEqual({ known: false, value: "not known", more: "1 similar job in 30 days, 20 are needed" });
  expect(startWords({ ...page, installed: false }, CREATED, 0).more).toBe("the history is not installed");
});
