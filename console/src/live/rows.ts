// The list of jobs outside of React, always in order: frames change it, and only what shows a changed row is drawn again.
import type { Frame, JobList, JobRow } from "../api/wire";
import { inOrder } from "../text/filter";

type Listener = () => void;

/** The position in a cursor `epoch-position-view`; -1 if it has none. */
export function positionOf(cursor: string): number {
  const part = cursor.split("-")[1];
  return part !== undefined && /^\d+$/.test(part) ? Number(part) : -1;
}

export class Rows {
  private byUid = new Map<string, JobRow>();
  private list: readonly JobRow[] = [];
  private readonly listeners = new Set<Listener>();
  private readonly touchedListeners = new Set<(uids: ReadonlySet<string>) => void>();
  private readonly listedListeners = new Set<Listener>();
  private listedAt = -1;
  hiddenNamespaces = 0;
  loaded = false;

  /** There are jobs, and this person may see none of them: how many wait or run is not known, which is not none. */
  get seesNothing(): boolean {
    return this.loaded && this.byUid.size === 0 && this.hiddenNamespaces > 0;
  }

  /** Take a new list. Rows that did not change stay the same objects, so nothing flickers. */
  replace(fresh: JobList): void {
    const before = this.byUid;
    this.byUid = new Map(fresh.rows.map((row) => [row.uid, same(before.get(row.uid), row)]));
    this.hiddenNamespaces = fresh.hiddenNamespaces;
    this.listedAt = positionOf(fresh.cursor);
    const again = this.loaded;
    this.loaded = true;
    this.publish([...this.byUid.values()]);
    if (again) for (const listener of this.listedListeners) listener();
  }

  /** Apply changes; those that the list has already are skipped. */
  apply(frame: Frame, cursor: string): void {
    if (positionOf(cursor) <= this.listedAt) return;
    const added = new Map(frame.rows.filter(({ uid }) => !this.byUid.has(uid)).map((row) => [row.uid, row]));
    for (const row of frame.rows) this.byUid.set(row.uid, row);
    for (const uid of frame.gone) this.byUid.delete(uid);
    if (frame.rows.length > 0 || frame.gone.length > 0) this.publish(this.newest([...this.list, ...added.values()]));
    const uids = new Set([...frame.touched, ...frame.gone, ...frame.rows.map((row) => row.uid)]);
    for (const listener of this.touchedListeners) listener(uids);
  }

  clear(): void {
    this.byUid = new Map();
    this.hiddenNamespaces = 0;
    this.loaded = false;
    this.listedAt = -1;
    this.publish([]);
  }

  all = (): readonly JobRow[] => this.list;
  row = (uid: string): JobRow | undefined => this.byUid.get(uid);

  subscribe = (listener: Listener): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  onTouched(listener: (uids: ReadonlySet<string>) => void): () => void {
    this.touchedListeners.add(listener);
    return () => this.touchedListeners.delete(listener);
  }

  /** Call a listener when the whole list was taken again, because changes may have been missed. */
  onListedAgain(listener: Listener): () => void {
    this.listedListeners.add(listener);
    return () => this.listedListeners.delete(listener);
  }

  /** The rows as they are now, without those that are gone. */
  private newest(rows: readonly JobRow[]): JobRow[] {
    const found: JobRow[] = [];
    for (const { uid } of rows) {
      const row = this.byUid.get(uid);
      if (row !== undefined) found.push(row);
    }
    return found;
  }

  /** What is almost in order, as the list was before a frame, is sorted in one pass. */
  private publish(rows: readonly JobRow[]): void {
    this.list = inOrder(rows);
    for (const listener of this.listeners) listener();
  }
}

function same(before: JobRow | undefined, now: JobRow): JobRow {
  if (before === undefined) return now;
  const keys = Object.keys(now) as (keyof JobRow)[];
  return keys.every((key) => before[key] === now[key]) ? before : now;
}
