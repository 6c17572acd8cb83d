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
  const [asked, setAsked] = useState<{ word: JobWord; about: JobPage } | null>(null); // the job as it was when it was asked about
  const { busy, error, run } = useDoing();
  const words = jobWords(page);
  const act = async (word: JobWord, uid: string): Promise<void> => {
    await post<Done>(`${path}/${word}`, { uid });
    if (word === "delete") await navigate({ to: "/jobs" });
  };
  return (
    <>
      <div className="actions">
        {words.map((word) => (
          <ActionButton
            key={word === "delete" ? word : "suspend or resume"} // the focus stays when one becomes the other
            rows={rows}
            name={word}
            icon={LOOKS[word].icon}
            busy={busy}
            onClick={() => (word === "resume" ? void run(() => act(word, job.uid)) : setAsked({ word, about: page }))}
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
          title={`${LOOKS[asked.word].title} ${job.kind} ${job.namespace}/${job.name}?`}
          lines={losses(asked.word, asked.about)}
          yes={LOOKS[asked.word].title}
          destroys={asked.word === "delete"}
          act={() => act(asked.word, asked.about.job.uid)}
          close={() => setAsked(null)}
        />
      )}
    </>
  );
}
