import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "../api/request";
import type { CronRow, Done } from "../api/wire";
import { appeared } from "../session";
import { ActionButton, Confirm, MissingRights, Refused, useActions, useDoing } from "./act";
import { address } from "./page-query";

/** Stop and start the schedule, and start a run now. */
export function CronActions({ cron }: { cron: CronRow }) {
  const path = address("crons", cron.namespace, cron.name);
  const rows = useActions(path);
  const navigate = useNavigate();
  const [asks, setAsks] = useState(false);
  const { busy, error, run } = useDoing();
  const word = cron.suspended ? "resume" : "suspend";
  const start = async (): Promise<void> => {
    const { namespace, kind, name } = await post<Done>(`${path}/run`, {});
    await appeared(namespace, kind, name);
    await navigate({ to: "/jobs/$namespace/$kind/$name", params: { namespace, kind: kind.toLowerCase(), name } });
  };
  return (
    <>
      <div className="actions">
        <ActionButton rows={rows} name="run" icon="play" busy={busy} onClick={() => setAsks(true)}>
          Run now
        </ActionButton>
        <ActionButton
          rows={rows}
          name={word}
          icon={cron.suspended ? "play" : "pause"}
          busy={busy}
          onClick={() => void run(async () => void (await post<Done>(`${path}/${word}`, {})))}
        >
          {cron.suspended ? "Resume schedule" : "Suspend schedule"}
        </ActionButton>
      </div>
      <MissingRights rows={rows} names={["run", word]} />
      <Refused error={error} />
      {asks ? (
        <Confirm
          title={`Run ${cron.namespace}/${cron.name} now?`}
          lines={[`A ${cron.kind} is created from its template, beside runs that are active.`, "The schedule stays as it is."]}
          yes="Run now"
          act={start}
          close={() => setAsks(false)}
        />
      ) : null}
    </>
  );
}
