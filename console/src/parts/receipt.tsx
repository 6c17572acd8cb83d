import type { Receipt as Paid } from "../api/wire";
import { hours, money, UNKNOWN } from "../text/cost";
import { duration } from "../text/format";
import { Notice } from "./trouble";

/** What a job used and cost, by day and pool of nodes. */
export function Receipt({ receipt }: { receipt: Paid | null }) {
  return (
    <section className="card">
      <header className="cardhead">
        <h2>Receipt</h2>
        {receipt === null ? null : <b>{receipt.cost === null ? UNKNOWN : money(receipt.cost)}</b>}
        {receipt !== null && receipt.cost !== null && receipt.unpriced ? <span className="dim">and what has no price</span> : null}
      </header>
      {receipt === null ? (
        <Notice icon="info" title="There is no receipt.">
          <p>The recorder writes one when a job has ended.</p>
        </Notice>
      ) : (
        <Lines receipt={receipt} />
      )}
    </section>
  );
}

function Lines({ receipt }: { receipt: Paid }) {
  const times = [
    { title: "Waited for nodes", seconds: receipt.waitingSeconds },
    { title: "Ran", seconds: receipt.runningSeconds },
    { title: "Repeated after failures", seconds: receipt.restartedSeconds },
    { title: "Lost with nodes", seconds: receipt.lostSeconds },
  ];
  return (
    <>
      <dl className="facts four">
        {times.map(({ title, seconds }) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{seconds === 0 ? "none" : duration(seconds * 1000)}</dd>
          </div>
        ))}
      </dl>
      {receipt.lines.length === 0 ? (
        <p className="note">Its pods were on no node, so it used nothing.</p>
      ) : (
        <div className="scrollx" tabIndex={0} role="region" aria-label="Lines of the receipt">
          <table className="stack">
            <thead>
              <tr>
                <th>Day (UTC)</th>
                <th>Nodes</th>
                <th className="right">GPU</th>
                <th className="right">CPU</th>
                <th className="right">Memory, GiB</th>
                <th className="right">Cost</th>
              </tr>
            </thead>
            <tbody>
              {receipt.lines.map((line) => (
                <tr key={`${line.day}/${line.pool}/${line.spot}`}>
                  <td className="title">{line.day}</td>
                  <td data-label="Nodes" className="wrap">
                    {line.pool || "no pool"}
                    {line.spot ? ", spot" : ""}
                  </td>
                  <td data-label="GPU" className="right">{hours(line.gpuSeconds)}</td>
                  <td data-label="CPU" className="right">{hours(line.cpuSeconds)}</td>
                  <td data-label="Memory, GiB" className="right">{hours(line.memoryGibSeconds)}</td>
                  <td data-label="Cost" className={line.cost === null ? "right dim" : "right"}>
                    {line.cost === null ? UNKNOWN : money(line.cost)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <footer className="tablefoot">
        <span>What its pods requested, from the moment they were on a node until they ended.</span>
      </footer>
    </>
  );
}
