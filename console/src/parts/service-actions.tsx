import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, post } from "../api/request";
import type { ActionRow, Done, ModelPage, PredictorRow, ServiceRow } from "../api/wire";
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

/** Which versions predictors serve, and what they get of the traffic. Nothing is sent before the whole of it was looked at. */
export function TrafficActions({ service, rows }: { service: ServiceRow; rows: readonly ActionRow[] | undefined }) {
  const [open, setOpen] = useState<"version" | "weights" | null>(null);
  const several = service.predictors.length > 1;
  const close = (): void => setOpen(null);
  return (
    <>
      <span className="grow" />
      <ActionButton rows={rows} name="version" icon="models" onClick={() => setOpen("version")}>
        Change version
      </ActionButton>
      {several ? (
        <ActionButton rows={rows} name="weights" icon="services" onClick={() => setOpen("weights")}>
          Change weights
        </ActionButton>
      ) : null}
      <MissingRights rows={rows} names={several ? ["version", "weights"] : ["version"]} />
      {open === "version" ? <Version service={service} close={close} /> : null}
      {open === "weights" ? <Weights service={service} close={close} /> : null}
    </>
  );
}

function Version({ service, close }: { service: ServiceRow; close: () => void }) {
  const { namespace, name, predictors } = service;
  const [chosen, setChosen] = useState(predictors[0]?.name ?? "");
  const [version, setVersion] = useState("");
  const one = predictors.find((predictor) => predictor.name === chosen);
  const { data } = useQuery({
    queryKey: ["models", address("models", namespace, one?.model ?? "")],
    queryFn: ({ signal }) => get<ModelPage>(address("models", namespace, one?.model ?? ""), signal),
    enabled: one !== undefined && one.model !== "",
  });
  const known = (data?.versions ?? []).filter(({ state, name: built }) => state === "Built" && built !== one?.modelVersion);
  const steps = service.steps.map(({ weight }) => `${weight} %`).join(", ");
  return (
    <Confirm
      title={`Version of ${namespace}/${name}`}
      lines={[]}
      yes="Apply"
      ready={version !== "" && chosen !== ""}
      act={async () => void (await post<Done>(`${address("services", namespace, name)}/version`, { predictor: chosen, version }))}
      close={close}
    >
      <div className="formfield">
        <label htmlFor="version-predictor">Predictor</label>
        <select id="version-predictor" className="input" value={chosen} onChange={({ target }) => setChosen(target.value)}>
          {predictors.map((predictor) => (
            <option key={predictor.name}>{predictor.name}</option>
          ))}
        </select>
      </div>
      <div className="formfield">
        <label htmlFor="version-name">Version</label>
        <input
          id="version-name"
          className="input"
          list="known-versions"
          value={version}
          placeholder={one?.modelVersion ?? ""}
          maxLength={253}
          spellCheck={false}
          autoCapitalize="off"
          onChange={({ target }) => setVersion(target.value.trim())}
        />
        <datalist id="known-versions">
          {known.map((built) => (
            <option key={built.name} value={built.name} />
          ))}
        </datalist>
      </div>
      <p className="dim small">{steps === "" ? "All its servers go over to it, without steps: the service has no rollout." : `It goes out in steps: ${steps}.`}</p>
    </Confirm>
  );
}

function Weights({ service: now, close }: { service: ServiceRow; close: () => void }) {
  const [service] = useState(now); // as it was when the dialog was opened: a number stays that of its predictor
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
