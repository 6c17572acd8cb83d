import { expect, test } from "vitest";
import { health, pause } from "./health";

const at = (connection: "connecting" | "open" | "cut" | "signed-out", heardAt: number, silentSeconds = 0) =>
  health({ connection, heardAt, silentSeconds }, 100_000);

test("the dot says how old the page is", () => {
  expect(at("open", 99_000)).toEqual({ tone: "ok", words: "Live" });
  expect(at("open", 66_000)).toEqual({ tone: "wait", words: "Last heard 34 s ago" });
  expect(at("open", 99_000, 90)).toEqual({ tone: "wait", words: "Cluster silent for 90 s" });
  expect(at("cut", 70_000)).toEqual({ tone: "fail", words: "Disconnected, last heard 30 s ago" });
  expect(at("signed-out", 70_000).tone).toBe("fail");
  expect(at("connecting", 0).words).toBe("Connecting");
});

test("tries are further and further apart, with chance, up to 30 s", () => {
  expect([1, 2, 3, 6, 60].map((failures) => pause(failures, 0))).toEqual([1000, 2000, 4000, 30_000, 30_000]);
  expect(pause(3, 1)).toBe(2000);
});
