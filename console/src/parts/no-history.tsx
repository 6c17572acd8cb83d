import { hiddenWords } from "../text/format";
import { Notice } from "./trouble";

/** In place of what comes from the history, on a console that has none. */
export function NoHistory() {
  return (
    <div className="card">
      <Notice icon="info" title="The history is not installed.">
        <p>The recorder keeps jobs in a database after they are deleted, with what they used and cost.</p>
        <p>
          An administrator switches it on with <code>history.create</code> of the chart, and names its database to the console with{" "}
          <code>console.history.databaseSecret</code>. For <code>kubedl open</code>, set <code>KUBEDL_HISTORY_DATABASE</code>.
        </p>
      </Notice>
    </div>
  );
}

/** Under what comes from the history: how much of it is hidden. */
export function HiddenPast({ namespaces }: { namespaces: number }) {
  if (namespaces === 0) return null;
  return <span>{hiddenWords(namespaces)}</span>;
}
