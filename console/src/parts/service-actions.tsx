import { useState } from "react";
import { post } from "../api/request";
import type { ActionRow, Done, PredictorRow, ServiceRow } from "../api/wire";
import { shares, weightOf } from "../text/actions";
import { figure } from "../text/format";
import { rolloutSteps, type RolloutWord } from "../text/services";
import { ActionButton, Confirm, MissingRights, Refused, useDoing } from "./act";
import { address } from "./page-query";
import { runsOf } from "./service-parts";

const DEFAULT_WEIGHT = 100; // of a predictor that has none in its spec

/** What can be said about a rollout. The operator does it; the page shows what came of it, and nothing before. */
export function RolloutActions({ service, one, rows }: { service: ServiceRow; one: PredictorRow; rows: readonly ActionRow[] | undefined }) {
  const path = address("services", service.namespace, service.name);
  const [asked, setAsked] = useState<RolloutWord | null>(null);
  const [said, setSaid] = useState("");
  const { busy, error, run } = useDoing();
  const steps = rolloutSteps(one);
  const act = async (word: RolloutWord, title: string): Promise<void> => {
    await post<Done>(`${path}/${word}`, { predictor: one.name });
    setSaid(title);
  };
  const chosen = steps.find(({ word }) => word === asked);
  return (
    <div className="inset">
      <div className="actions">
        {steps.map(({ word, title, icon, losses }) => (
          <ActionButton
            key={word}
            rows={rows}
            name={word}
            icon={icon}
            busy={busy}
            onClick={() => (losses.length === 0 ? void run(() => act(word, title)) : setAsked(word))}
          >
            {title}
          </ActionButton>
        ))}
        {said === "" ? null : (
          <span className="dim small" role="status">
            {said}: the operator is told. This page shows what comes of it.
          </span>
        )}
      </div>
      <MissingRights rows={rows} names={steps.map(({ word }) => word)} />
      <Refused error={error} />
      {chosen === undefined ? null : (
        <Confirm
          title={`${chosen.title}: ${service.namespace}/${service.name}, ${one.name}?`}
          lines={chosen.losses}
          yes={chosen.title}
          act={() => act(chosen.word, chosen.title)}
          close={() => setAsked(null)}
        />
      )}
    </div>
  );
}

/** Weights of predictors. Nothing is sent before the whole of it was looked at. */
export function WeightActions({ service, rows }: { service: ServiceRow; rows: readonly ActionRow[] | undefined }) {
  const [open, setOpen] = useState(false);
  if (service.predictors.length < 2) return null;
  return (
    <>
      <span className="grow" />
      <ActionButton rows={rows} name="weights" icon="services" onClick={() => setOpen(true)}>
        Change weights
      </ActionButton>
      <MissingRights rows={rows} names={["weights"]} />
      {open ? <Weights service={service} close={() => setOpen(false)} /> : null}
    </>
  );
}

function Weights({ service, close }: { service: ServiceRow; close: () => void }) {
  const before = service.predictors.map(({ weight }) => weight ?? DEFAULT_WEIGHT);
  const [texts, setTexts] = useState(before.map(String));
  const weights = texts.map(weightOf);
  const whole = weights.every((one) => one !== null) ? weights : null;
  const parts = whole === null ? null : shares(whole);
  const wrong = whole === null ? "A weight is a whole number from 0 to 1,000,000." : parts === null ? "One weight must be above 0." : "";
  const send = async (): Promise<void> => {
    if (whole === null || parts === null) throw new Error(wrong);
    const names = service.predictors.map(({ name }) => name);
    const changed = names.flatMap((name, index) => (whole[index] === before[index] ? [] : [[name, whole[index]] as const]));
    if (changed.length > 0)
      await post<Done>(`${address("services", service.namespace, service.name)}/weights`, { weights: Object.fromEntries(changed) });
  };
  return (
    <Confirm title={`Weights of ${service.namespace}/${service.name}`} lines={[]} yes="Apply" ready={wrong === ""} act={send} close={close}>
      <table className="weights">
        <thead>
          <tr>
            <th>Predictor</th>
            <th className="right">Weight</th>
            <th className="right">Would get</th>
          </tr>
        </thead>
        <tbody>
          {service.predictors.map((one, index) => (
            <tr key={one.name}>
              <td className="wrap">
                <i className={`key ${runsOf(service.predictors).find(({ predictor }) => predictor === one)?.colour ?? ""}`} />
                <b>{one.name}</b>
              </td>
              <td className="right">
                <input
                  className="input number"
                  aria-label={`Weight of ${one.name}`}
                  inputMode="numeric"
                  value={texts[index] ?? ""}
                  onChange={({ target }) => setTexts(texts.map((text, at) => (at === index ? target.value : text)))}
                />
              </td>
              <td className="right">{parts === null ? "–" : `${figure(parts[index] ?? 0)} %`}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className={wrong === "" ? "dim small" : "small tone-text-fail"}>
        {wrong === "" ? "The share of a predictor is its weight among those of all. The gateway follows within seconds." : wrong}
      </p>
    </Confirm>
  );
}
