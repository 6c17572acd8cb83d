import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { ReadAgain } from "./read-again";

const FILTERS = { queryKey: ["job"] };

/** A page whose answers come when they are let go. */
function page() {
  const queries = new QueryClient();
  const asked: ((state: string) => void)[] = [];
  const observer = new QueryObserver<string>(queries, {
    queryKey: ["job"],
    queryFn: () => new Promise((resolve) => asked.push(resolve)),
    staleTime: Infinity,
  });
  const close = observer.subscribe(() => undefined);
  return { asked, close, again: new ReadAgain(queries), shown: () => queries.getQueryData(["job"]) };
}

test("what changed while a page was read for the first time is read after that", async () => {
  const { asked, close, again, shown } = page();
  again.read(FILTERS);
  again.read(FILTERS);
  expect(asked).toHaveLength(1);
  asked[0]?.("Running");
  await vi.waitFor(() => expect(asked).toHaveLength(2));
  asked[1]?.("Succeeded");
  await vi.waitFor(() => expect(shown()).toBe("Succeeded"));
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(asked).toHaveLength(2);
  close();
});

test("changes that do not end do not keep an answer away", async () => {
  const { asked, close, again, shown } = page();
  asked[0]?.("Created");
  await vi.waitFor(() => expect(shown()).toBe("Created"));
  again.read(FILTERS);
  await vi.waitFor(() => expect(asked).toHaveLength(2));
  for (let change = 0; change < 5; change += 1) again.read(FILTERS);
  asked[1]?.("Running");
  await vi.waitFor(() => expect(shown()).toBe("Running"));
  await vi.waitFor(() => expect(asked).toHaveLength(3));
  close();
});
