// Reads queries again when what they show has changed. An answer that is on its way may be of before, and is then not the last.
import type { Query, QueryClient, QueryFilters } from "@tanstack/react-query";

export class ReadAgain {
  private readonly late = new Set<Query>(); // what they show changed while their answers were on the way

  constructor(private readonly queries: QueryClient) {
    queries.getQueryCache().subscribe(({ type, query }) => {
      if (type === "removed") this.late.delete(query);
      if (type !== "updated" || query.state.fetchStatus !== "idle" || !this.late.delete(query)) return;
      queueMicrotask(() => this.read({ queryKey: query.queryKey, exact: true })); // not while the answer is being taken
    });
  }

  read(filters: QueryFilters): void {
    for (const query of this.queries.getQueryCache().findAll(filters))
      if (query.state.fetchStatus === "idle") void this.queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
      else this.late.add(query);
  }
}
