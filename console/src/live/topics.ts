// Pages that are read again when something on them changed: at once, but not more often than every two seconds.

const PAUSE = 2000; // milliseconds
export const TOPICS: ReadonlySet<string> = new Set(["nodes", "queues", "models", "services", "crons"]);

/** The pages that show a topic: a model says who serves it, and a service which model it runs. */
export const pagesOf = (topic: string): readonly string[] =>
  topic === "models" || topic === "services" ? ["models", "services"] : [topic];

export class Topics {
  private readonly waiting = new Map<string, { again: boolean }>();

  constructor(private readonly read: (topic: string) => void) {}

  /** Take what a frame touched; what is no topic is not looked at. */
  changed(names: Iterable<string>): void {
    for (const name of names) if (TOPICS.has(name)) this.one(name);
  }

  private one(topic: string): void {
    const waits = this.waiting.get(topic);
    if (waits !== undefined) {
      waits.again = true;
      return;
    }
    const pause = { again: false };
    this.waiting.set(topic, pause);
    this.read(topic);
    setTimeout(() => {
      this.waiting.delete(topic);
      if (pause.again) this.one(topic);
    }, PAUSE);
  }
}
