import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { jobPath, post } from "../api/request";
import type { Done, JobPage } from "../api/wire";
import { jobWords, type JobWord, losses } from "../text/actions";
import { ActionButton, Confirm, MissingRights, Refused, useActions, useDoing } from "./act";
import type { IconName } from "./icon";

const LOOKS: Readonly<Record<JobWord, { readonly title: string; readonly icon: IconName }>> = {
  suspend: { title: "Suspend", icon: "pause" },
  resume: { title: "Resume", icon: "play" },
  delete: { title: "Delete", icon: "trash" },
};

/** Suspend, resume and delete; what loses work is asked for first. */
export function JobActions({ page }: { page: JobPage }) {
  const { job } = page;
  const path = jobPath(job.namespace, job.kind, job.name);
  const rows = useActions(path);
  const navigate = useNavigate();
  const [asked, setAsked] = useState<JobWord | null>(null);
  const { busy, error, run } = useDoing();
  const words = jobWords(page);
  const act = async (word: JobWord): Promise<void> => {
    await post<Done>(`${path}/${word}`, { uid: job.uid });
    if (word === "delete") await navigate({ to: "/jobs" });
  };
  return (
    <>
      <div className="actions">
        {words.map((word) => (
          <ActionButton
            key={word}
            rows={rows}
            name={word}
            icon={LOOKS[word].icon}
            busy={busy}
            onClick={() => (word === "resume" ? void run(() => act(word)) : setAsked(word))}
          >
            {LOOKS[word].title}
          </ActionButton>
        ))}
        <ActionButton rows={rows} name="copy" icon="copy" onClick={() => void navigate({ to: "/submit", search: { from: [job.namespace, job.kind.toLowerCase(), job.name].join("/") } })}>
          Submit again
        </ActionButton>
      </div>
      <MissingRights rows={rows} names={[...words, "copy"]} />
      <Refused error={error} />
      {asked === null ? null : (
        <Confirm
          title={`${LOOKS[asked].title} ${job.kind} ${job.namespace}/${job.name}?`}
          lines={losses(asked, page)}
          yes={LOOKS[asked].title}
          destroys={asked === "delete"}
          act={() => act(asked)}
          close={() => setAsked(null)}
        />
      )}
    </>
  );
}
