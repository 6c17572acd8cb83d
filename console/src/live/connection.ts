// One stream of changes: list once, then follow; after a cut go on where it was, and list again only if told to.
import { at } from "../api/base";
import { get, problemOf, RequestError } from "../api/request";
import type { Alive, Frame, JobList } from "../api/wire";
import { EventParser, type ServerEvent } from "./events";
import { type Heard, pause } from "./health";
import type { Rows } from "./rows";

/** What the console says about a stream that it cannot give: of the API server, or of itself. */
const toldBy = (failure: Error | null): string =>
  !(failure instanceof RequestError) ? "" : failure.status === 502 ? "Cluster does not answer" : "No live changes";

const NOTHING: Heard = { connection: "connecting", heardAt: 0, silentSeconds: 0, unansweredSeconds: 0, told: "" };

export class Live {
  private heard = NOTHING;
  private readonly listeners = new Set<() => void>();
  private stopped = new AbortController();
  private last = "";
  failure: Error | null = null; // why there is no list

  constructor(
    private readonly rows: Rows,
    private readonly signedOut: () => void,
  ) {}

  start(): void {
    this.stopped = new AbortController();
    this.tell(NOTHING); // what was said of another sign-in is over
    void this.run(this.stopped.signal);
  }

  stop(): void {
    this.stopped.abort();
    this.last = "";
  }

  state = (): Heard => this.heard;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  private async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const heardBefore = this.heard.heardAt;
      let refused = false;
      try {
        if (this.last === "") await this.list(signal);
        refused = await this.follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.failure = error instanceof Error ? error : new Error(String(error));
        refused = error instanceof RequestError && error.status === 401;
      }
      if (signal.aborted) return;
      failures = this.heard.heardAt > heardBefore ? 1 : failures + 1;
      // Whoever is signed in all the same, as after a proxy's short refusal, is heard again; else this is stopped.
      this.tell(refused ? { ...this.heard, connection: "signed-out" } : { ...this.heard, connection: "cut", told: toldBy(this.failure) });
      if (refused) this.signedOut();
      await new Promise((resolve) => setTimeout(resolve, pause(failures, Math.random())));
    }
  }

  private async list(signal: AbortSignal): Promise<void> {
    const fresh = await get<JobList>("/api/v1/jobs", signal);
    this.last = fresh.cursor;
    this.failure = null;
    this.rows.replace(fresh);
    this.tell({ ...this.heard, connection: "open", heardAt: Date.now(), told: "" });
  }

  /** Take what comes until a cut. Returns whether the person is signed out. */
  private async follow(signal: AbortSignal): Promise<boolean> {
    const answer = await fetch(at("/api/v1/stream"), { headers: { "Last-Event-ID": this.last }, signal });
    if (!answer.ok || answer.body === null) throw await problemOf(answer);
    const parser = new EventParser();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      for (const event of parser.push(value)) {
        if (event.name === "signed-out") return true;
        await this.take(event, signal);
      }
    }
  }

  private async take(event: ServerEvent, signal: AbortSignal): Promise<void> {
    this.failure = null;
    let { silentSeconds, unansweredSeconds } = this.heard;
    if (event.name === "reset") await this.list(signal);
    else if (event.name === "frame") this.rows.apply(JSON.parse(event.data) as Frame, event.id);
    else if (event.name === "alive") ({ silentSeconds, unansweredSeconds } = JSON.parse(event.data) as Alive);
    this.last = event.id;
    this.tell({ connection: "open", heardAt: Date.now(), silentSeconds, unansweredSeconds, told: "" });
  }

  private tell(heard: Heard): void {
    this.heard = heard;
    for (const listener of this.listeners) listener();
  }
}
