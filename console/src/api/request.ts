// Requests to the console's own server. Nothing here talks to any other origin.
import { at } from "./base";
import type { Problem } from "./wire";

/** An answer that is not a success, with the server's words for it. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(`${problem.what}: ${problem.why}`);
  }
}

/** Whether somebody may not see something, any more or at all: no answer of before outlives that. */
export const forbids = (error: Error | null): boolean => error instanceof RequestError && error.status === 403;

const MARK = { "X-KubeDL-Console": "1" }; // a form of another site cannot send it

export async function problemOf(answer: Response): Promise<RequestError> {
  const fallback: Problem = {
    what: "the request failed",
    why: `the server answered ${answer.status}`,
    next: "Try again.",
    request: "",
    fields: [],
  };
  try {
    const found = (await answer.json()) as Partial<Problem>;
    return new RequestError(answer.status, { ...fallback, ...found });
  } catch {
    return new RequestError(answer.status, fallback);
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(at(path), { headers: { Accept: "application/json" }, signal: signal ?? null });
  if (!answer.ok) throw await problemOf(answer);
  return (await answer.json()) as T;
}

/** An answer; null if the person is signed out or may not see it, which no answer of before outlives. */
export async function unlessRefused<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RequestError && (error.status === 401 || error.status === 403)) return null;
    throw error;
  }
}

export async function change(method: "POST" | "DELETE", path: string, body?: unknown): Promise<void> {
  const answer = await fetch(at(path), {
    method,
    headers: { "Content-Type": "application/json", ...MARK },
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (!answer.ok) throw await problemOf(answer);
}

/** Change something, and return what came of it. */
export async function post<T>(path: string, body: unknown): Promise<T> {
  const answer = await fetch(at(path), {
    method: "POST",
    headers: { Accept: "application/json", "Content-Type": "application/json", ...MARK },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw await problemOf(answer);
  return (await answer.json()) as T;
}

/** The address of a job in the API; the same parts make up its address in the browser. */
export function jobPath(namespace: string, kind: string, name: string): string {
  return `/api/v1/jobs/${[namespace, kind.toLowerCase(), name].map(encodeURIComponent).join("/")}`;
}
