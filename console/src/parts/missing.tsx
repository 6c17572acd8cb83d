import type { Missing } from "../api/wire";
import { rightWords } from "../text/actions";
import { Notice } from "./trouble";

/** Under a list: what is hidden, and which rights would show it. */
export function MissingNote({ missing }: { missing: readonly Missing[] }) {
  if (missing.length === 0) return null;
  return (
    <p className="note">
      Some of it is hidden from you. Rights that are missing, in all namespaces or in some: <code>{missing.map(rightWords).join(", ")}</code>
    </p>
  );
}

/** In place of a list in which nothing may be seen. */
export function Hidden({ missing, what }: { missing: readonly Missing[]; what: string }) {
  return (
    <Notice icon="lock" title={`${what} are hidden from you.`}>
      <p>
        The right to <code>{missing.map(rightWords).join(", ")}</code> is missing. An administrator can give it: the role view has it, except for what belongs
        to the whole cluster.
      </p>
    </Notice>
  );
}

/** In place of a page whose kinds the cluster does not have. */
export function NotInstalled({ title, children }: { title: string; children: string }) {
  return (
    <div className="card">
      <Notice icon="info" title={title}>
        <p>{children}</p>
      </Notice>
    </div>
  );
}
