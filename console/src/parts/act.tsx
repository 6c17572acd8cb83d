import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { get, RequestError } from "../api/request";
import type { ActionList, ActionRow } from "../api/wire";
import { missingFor, missingWords, rightWords } from "../text/actions";
import { Dialog } from "./dialog";
import { Icon, type IconName } from "./icon";

const AGAIN = 30_000; // milliseconds; rights change without a word, and the API server decides anyway

/** What the caller may do with an object. Until that is known nothing is offered. */
export function useActions(path: string): readonly ActionRow[] | undefined {
  const { data } = useQuery({
    queryKey: ["actions", path],
    queryFn: ({ signal }) => get<ActionList>(`${path}/actions`, signal),
    refetchInterval: AGAIN,
  });
  return data?.rows;
}

/** One thing at a time: what is being done, and what went wrong with the last one. */
export function useDoing(): { busy: boolean; error: Error | null; run: (what: () => Promise<void>) => Promise<boolean>; reset: () => void } {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const run = async (what: () => Promise<void>): Promise<boolean> => {
    setBusy(true);
    setError(null);
    try {
      await what();
      return true;
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, run, reset: () => setError(null) };
}

interface ButtonProps {
  readonly rows: readonly ActionRow[] | undefined;
  readonly name: string;
  readonly icon: IconName;
  readonly busy?: boolean;
  readonly primary?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

/** A button that is off, with the missing right as its hint, for whoever may not. One that is busy keeps the focus. */
export function ActionButton({ rows, name, icon, busy = false, primary = false, onClick, children }: ButtonProps) {
  const missing = missingFor(rows, name);
  return (
    <button
      className={primary ? "button primary" : "button"}
      disabled={rows === undefined || missing !== null}
      aria-disabled={busy}
      title={missing === null ? undefined : `Needs the right to ${rightWords(missing)}`}
      onClick={busy ? undefined : onClick}
    >
      <Icon name={missing === null ? icon : "lock"} small />
      {children}
    </button>
  );
}

/** Under buttons that are off: why, in words that a telephone shows too. */
export function MissingRights({ rows, names }: { rows: readonly ActionRow[] | undefined; names: readonly string[] }) {
  const words = missingWords(rows, names);
  return words.length === 0 ? null : <p className="dim small rights">{words.join(" ")}</p>;
}

/** What the API server, or the console, said to something that was not done. */
export function Refused({ error }: { error: Error | null }) {
  if (error === null) return null;
  const problem = error instanceof RequestError ? error.problem : null;
  return (
    <p className="failure" role="alert">
      <Icon name="warn" small />
      <span>
        <b>{problem?.what ?? "The console does not answer"}</b>: {problem?.why ?? "the connection was cut; it may have been done"}. {problem?.next ?? ""}
      </span>
    </p>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly lines: readonly string[];
  readonly yes: string;
  readonly destroys?: boolean;
  readonly ready?: boolean; // whether what was typed can be sent
  readonly act: () => Promise<void>;
  readonly close: () => void;
  readonly children?: ReactNode;
}

/** Asks before something that loses work. "Keep it as it is" has the focus, so Enter alone loses nothing. */
export function Confirm({ title, lines, yes, destroys = false, ready = true, act, close, children }: ConfirmProps) {
  const { busy, error, run } = useDoing();
  return (
    <Dialog title={title} close={close}>
      {lines.length === 0 ? null : (
        <ul className="losses">
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      {children}
      <Refused error={error} />
      <div className="dialogfoot">
        <button className="button" autoFocus onClick={close}>
          {busy ? "Close" : "Keep it as it is"}
        </button>
        <button className={destroys ? "button danger" : "button primary"} disabled={!ready} aria-disabled={busy} onClick={busy ? undefined : () => void run(act).then((done) => done && close())}>
          {yes}
        </button>
      </div>
    </Dialog>
  );
}
