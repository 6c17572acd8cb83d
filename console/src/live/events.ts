// A parser of server-sent events over fetch, which, unlike EventSource, sees 401 and 403.

export interface ServerEvent {
  readonly name: string;
  readonly id: string;
  readonly data: string;
}

/** Takes text as it arrives, cut anywhere, and returns the events that are complete. */
export class EventParser {
  private rest = "";
  private name = "";
  private id = "";
  private data: string[] = [];

  push(text: string): ServerEvent[] {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.line(line.endsWith("\r") ? line.slice(0, -1) : line));
  }

  private line(line: string): ServerEvent[] {
    if (line === "") return this.flush();
    const colon = line.indexOf(":");
    if (colon === 0) return []; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.name = value;
    else if (field === "id") this.id = value;
    else if (field === "data") this.data.push(value);
    return [];
  }

  private flush(): ServerEvent[] {
    const complete = this.data.length > 0 ? [{ name: this.name || "message", id: this.id, data: this.data.join("\n") }] : [];
    this.name = "";
    this.data = [];
    return complete;
  }
}
