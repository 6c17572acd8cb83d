import type { ReactNode } from "react";
import { RequestError } from "../api/request";
import { Icon } from "./icon";

/** A part that failed says so in its own place: what, why, what next. */
export function Trouble({ error, retry }: { error: Error; retry?: () => void }) {
  const problem = error instanceof RequestError ? error.problem : null;
  const locked = error instanceof RequestError && error.status === 403;
  return (
    <Notice icon={locked ? "lock" : "warn"} title={sentence(problem?.what ?? "the console does not answer")}>
      <p>{sentence(problem?.why ?? "the connection was cut")}</p>
      <p>{problem?.next ?? "Check the network, then try again."}</p>
      {problem?.request ? <p className="dimmer">Request {problem.request}</p> : null}
      {retry && !locked ? (
        <button className="button" onClick={retry}>
          Try again
        </button>
      ) : null}
    </Notice>
  );
}

/** A large note in place of content. */
export function Notice({ icon, title, children }: { icon: "lock" | "warn" | "info"; title: string; children?: ReactNode }) {
  return (
    <div className="notice" role="status">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

const sentence = (text: string): string => {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?:…]$/.test(first) ? first : `${first}.`;
};
