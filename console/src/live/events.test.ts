import { expect, test } from "vitest";
import { EventParser } from "./events";

const STREAM = 'retry: 1000\n\nevent: frame\nid: ab-1-cd\ndata: {"a":1}\n\n: comment\n\nevent: alive\r\nid: ab-2-cd\r\ndata: x\r\n\r\n';

test("events are the same wherever the stream is cut", () => {
  const whole = new EventParser().push(STREAM);
  expect(whole).toEqual([
    { name: "frame", id: "ab-1-cd", data: '{"a":1}' },
    { name: "alive", id: "ab-2-cd", data: "x" },
  ]);
  for (let cut = 0; cut <= STREAM.length; cut += 1) {
    const parser = new EventParser();
    expect([...parser.push(STREAM.slice(0, cut)), ...parser.push(STREAM.slice(cut))]).toEqual(whole);
  }
});

test("an event without its empty line is not complete", () => {
  expect(new EventParser().push("event: frame\ndata: 1\n")).toEqual([]);
});
