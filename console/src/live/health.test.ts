import { expect, test } from "vitest";
import { away, health, pause, spoken } from "./health";

const at = (connection: "connecting" | "open" | "cut" | "signed-out", heardAt: number, silentSeconds = 0, unansweredSeconds = 0, told = "") =>
  health({ connection, heardAt, silentSeconds, unansweredSeconds, told }, 100_000);

test("the dot says how old the page is", () => {
  expect(at("open", 99_000)).toEqual({ tone: "ok", words: "Live" });
  expect(at("open", 66_000)).toEqual({ tone: "wait", words: "Last heard 34 s ago" });
  expect(at("open", 99_000, 90)).toEqual({ tone: "wait", words: "Cluster silent for 91 s" });
  expect(at("open", 99_000, 60, 9).words).toBe("Live"); // a watch may be quiet, and an answer a little late
  expect(at("open", 99_000, 60, 14)).toEqual({ tone: "wait", words: "Cluster silent for 15 s" });
  expect(at("cut", 70_000, 0, 0, "Cluster does not answer").words).toBe("Cluster does not answer, last heard 30 s ago");
  expect(at("cut", 70_000)).toEqual({ tone: "fail", words: "Disconnected, last heard 30 s ago" });
  expect(at("cut", 0).words).toBe("Disconnected");
  expect(at("signed-out", 70_000).tone).toBe("fail");
  expect(at("connecting", 0).words).toBe("Connecting");
});

test("what failed is asked again when there are answers again", () => {
  const heard = { connection: "open", heardAt: 1, silentSeconds: 90, unansweredSeconds: 3, told: "" } as const;
  expect(away(heard)).toBe(false); // silent, but it answers
  expect(away({ ...heard, unansweredSeconds: 14 })).toBe(true);
  expect(away({ ...heard, connection: "cut" })).toBe(true);
});

test("who hears the page is told once, and not while it loads", () => {
  const said = (connection: "connecting" | "open" | "cut", heardAt: number, now: number) => spoken({ connection, heardAt, silentSeconds: 0, unansweredSeconds: 0, told: "" }, now);
  expect(said("open", 99_000, 100_000)).toBe("");
  expect(said("connecting", 0, 100_000)).toBe("");
  expect(said("cut", 70_000, 100_000)).toMatch(/^Disconnected/);
  expect(said("cut", 70_000, 101_000)).toBe(said("cut", 70_000, 100_000));
  expect(said("open", 66_000, 101_000)).toBe(said("open", 66_000, 100_000));
});

test("tries are further and further apart, with chance, up to 30 s", () => {
  expect([1, 2, 3, 6, 60].map((failures) => pause(failures, 0))).toEqual([1000, 2000, 4000, 30_000, 30_000]);
  expect(pause(3, 1)).toBe(2000);
});
