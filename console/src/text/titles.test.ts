import { expect, test } from "vitest";
import { pageTitle } from "./titles";

const PAGES = [
  { to: "/", title: "Overview" },
  { to: "/jobs", title: "Jobs" },
];

test("a page has its name, and an object its own before it", () => {
  expect(pageTitle("/", PAGES)).toBe("Overview · KubeDL");
  expect(pageTitle("/jobs/", PAGES)).toBe("Jobs · KubeDL");
  expect(pageTitle("/jobs/nlp/pytorchjob/bert", PAGES)).toBe("bert · Jobs · KubeDL");
  expect(pageTitle("/jobs/nlp/pytorchjob/bert/6f1c", PAGES)).toBe("bert · Jobs · KubeDL");
});

test("an address without a page says so", () => {
  expect(pageTitle("/nowhere/at/all", PAGES)).toBe("No such page · KubeDL");
});
