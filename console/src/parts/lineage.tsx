import { Link } from "@tanstack/react-router";
import { type KeyboardEvent, useState } from "react";
import type { LineageEdge, LineageNode, LineagePage } from "../api/wire";
import { figure } from "../text/format";
import { ancestors, COLUMNS, curve, descendants, HEIGHT, type Layout, layout, lit, neighbour } from "../text/lineage";
import { answer, detail, sources, title } from "../text/lineage-words";
import { look } from "../text/states";
import { Icon, type IconName } from "./icon";
import { MissingNote } from "./missing";

const GAP = 76; // pixels between two columns

interface Props {
  readonly page: LineagePage;
  readonly current: boolean; // whether it is the answer to what is chosen
  readonly namespace: string;
  readonly model: string;
  readonly focus: string; // the id of a part; empty: what serves now
  readonly whole: boolean;
  readonly choose: (focus: string) => void;
  readonly showAll: () => void;
}

/** Where a model comes from and who serves it: one sentence, and a graph in which a part lights all that belongs to it. */
export function Lineage({ page, current, namespace, model, focus, whole, choose, showAll }: Props) {
  const chosen = page.nodes.some(({ id }) => id === focus) ? focus : "";
  const { who, rest } = answer(page, model);
  return (
    <section className="card" aria-label="Lineage">
      <header className="cardhead">
        <h2>Where it comes from, and who serves it</h2>
        <span className="grow" />
        {chosen === "" ? null : (
          <button className="button" onClick={() => choose("")}>
            Show what serves now
          </button>
        )}
      </header>
      <p className="answer">
        <Icon name="info" />
        <span>
          {who === "" ? null : <b>{who}</b>}
          {rest}
        </span>
      </p>
      <Graph page={page} namespace={namespace} model={model} focus={chosen} choose={choose} />
      <p className="note" role="status">
        {focus !== chosen && current ? "The part that the address names is not here any more. " : ""}
        {chosenWords(page, chosen, model)}
      </p>
      <Left page={page} whole={whole} showAll={showAll} />
      {page.history === "absent" || page.history === "failed" ? (
        <p className="note">
          {page.history === "absent"
            ? "Jobs that were deleted are known by their names alone: the history is not installed."
            : "Jobs that were deleted are known by their names alone: the history cannot be read now."}
        </p>
      ) : null}
      <MissingNote missing={page.missing} />
    </section>
  );
}

function chosenWords({ nodes, edges }: LineagePage, focus: string, model: string): string {
  const node = nodes.find(({ id }) => id === focus);
  if (node === undefined) return "Choose a part to see all that it came from, and all that came from it.";
  const [before, after] = [ancestors([focus], edges).size - 1, descendants([focus], edges).size - 1];
  const parts = (count: number): string => (count === 1 ? "1 part" : `${count === 0 ? "no" : figure(count)} parts`);
  return `${title(node, model)} came from ${parts(before)} of this, and ${parts(after)} came from it.`;
}

function Left({ page, whole, showAll }: { page: LineagePage; whole: boolean; showAll: () => void }) {
  if (page.leftOut === 0) return null;
  const versions = page.leftOut === 1 ? "1 older version is" : `${figure(page.leftOut)} older versions are`;
  if (whole) return <p className="note">{versions} not in it: there is no room for more. Choose one in the list below.</p>;
  return (
    <p className="note">
      {versions} not in it.{" "}
      <button className="linklike" onClick={showAll}>
        Show all
      </button>
    </p>
  );
}

function Graph({ page, namespace, model, focus, choose }: Pick<Props, "page" | "namespace" | "model" | "focus" | "choose">) {
  const { nodes, edges } = page;
  const places = layout(nodes, edges.filter(({ parent }) => !parent)); // a job stands beside its own version
  const bright = lit(focus, nodes, edges);
  const [at, setAt] = useState("");
  const stop = places.tops.has(at) ? at : places.tops.has(focus) ? focus : places.columns.flat()[0]; // of the Tab key
  const onKey = (event: KeyboardEvent<HTMLElement>): void => {
    const id = (event.target as HTMLElement).dataset["part"];
    const next = id === undefined ? undefined : neighbour(places, id, event.key);
    if (next === undefined) return;
    event.preventDefault();
    setAt(next);
    event.currentTarget.querySelector<HTMLElement>(`[data-part="${CSS.escape(next)}"]`)?.focus();
  };
  return (
    <div className="lineage" role="group" aria-label="Parts; arrow keys lead from one to the next" onKeyDown={onKey}>
      {COLUMNS.map((name, column) => (
        <div key={name} className="lineagecolumn">
          <h3>{name}</h3>
          <ol style={{ height: places.height }}>
            {places.columns[column]?.map((id) => {
              const node = nodes.find((one) => one.id === id);
              return node === undefined ? null : (
                <li key={id} className={`part ${bright.has(id) ? "lit" : "unlit"}`} style={{ top: places.tops.get(id) }}>
                  <button
                    data-part={id}
                    aria-pressed={id === focus}
                    tabIndex={id === stop ? 0 : -1}
                    title={`${node.name || title(node, model)}${node.kind === "code" ? ` ${node.revision}` : ""}`}
                    onFocus={() => setAt(id)}
                    onClick={() => choose(id === focus ? "" : id)}
                  >
                    <span className={`sign ${tone(node)}`}>
                      <Icon name={SIGNS[node.kind] ?? "help"} small />
                    </span>
                    <span className="partwords">
                      <span className="cut partname">{title(node, model)}</span>
                      <span className="cut small">{detail(node, page, model)}</span>
                      <span className="small from">{sources(node, page, model)}</span>
                    </span>
                  </button>
                  <Open node={node} namespace={namespace} model={model} tabIndex={id === stop ? 0 : -1} />
                </li>
              );
            })}
            {(places.columns[column]?.length ?? 0) === 0 ? <li className="dimmer small nothing">{column === 3 ? "nobody that you may see" : "not stated"}</li> : null}
          </ol>
          {column === COLUMNS.length - 1 ? null : <Lines column={column} edges={edges} nodes={nodes} places={places} bright={bright} />}
        </div>
      ))}
    </div>
  );
}

const SIGNS: Readonly<Record<string, IconName>> = { code: "code", data: "data", image: "image", parent: "models", job: "jobs", version: "models", service: "services", more: "more" };
const BUILDS: Readonly<Record<string, string>> = { Built: "ok", Failed: "fail", Building: "running" };

function tone(node: LineageNode): string {
  if (node.kind === "version") return `tone-${BUILDS[node.state] ?? "off"}`;
  if (node.kind === "service") return "tone-running";
  return node.kind === "job" && (node.sight === "there" || node.sight === "recorded") ? `tone-${look(node.state).tone}` : "tone-off";
}

/** The page of a part, if it has one. */
function Open({ node, namespace, model, tabIndex }: { node: LineageNode; namespace: string; model: string; tabIndex: number }) {
  const same = { className: "open", tabIndex, "aria-label": `Open ${title(node, model)}` } as const;
  const sign = <Icon name="right" small />;
  const kind = node.jobKind.toLowerCase();
  if (node.kind === "service")
    return (
      <Link {...same} to="/services/$namespace/$name" params={{ namespace, name: node.name }}>
        {sign}
      </Link>
    );
  if (node.kind === "parent" && node.model !== "" && node.model !== model)
    return (
      <Link {...same} to="/models/$namespace/$name" params={{ namespace, name: node.model }} search={{ focus: `version:${node.name}` }}>
        {sign}
      </Link>
    );
  if (node.sight === "there")
    return (
      <Link {...same} to="/jobs/$namespace/$kind/$name" params={{ namespace, kind, name: node.name }}>
        {sign}
      </Link>
    );
  if (node.sight === "recorded")
    return (
      <Link {...same} to="/jobs/$namespace/$kind/$name/$uid" params={{ namespace, kind, name: node.name, uid: node.uid }}>
        {sign}
      </Link>
    );
  return null;
}

interface LinesProps {
  readonly column: number; // to the left of the gap
  readonly edges: readonly LineageEdge[];
  readonly nodes: readonly LineageNode[];
  readonly places: Layout;
  readonly bright: ReadonlySet<string>;
}

/** The lines between two columns; what they say is in the words of the parts too. */
function Lines({ column, edges, nodes, places, bright }: LinesProps) {
  const columns = new Map(nodes.map(({ id, column: own }) => [id, own]));
  const between = edges.filter(({ source, target, parent }) => columns.get(parent ? target : source) === column);
  const drawn = between.map((edge) => {
    const [from, to] = [places.tops.get(edge.source) ?? 0, places.tops.get(edge.target) ?? 0];
    const isLit = bright.has(edge.source) && bright.has(edge.target) && edge.percent !== 0;
    return { edge, isLit, middle: (from + to + HEIGHT) / 2, ...curve(from, to, GAP, edge.parent) };
  });
  drawn.sort((a, b) => Number(a.isLit) - Number(b.isLit)); // what is lit lies on top
  return (
    <div className="lines" aria-hidden="true">
      <svg width={GAP} height={places.height}>
        {drawn.map(({ edge, isLit, line, head }) => (
          <g key={`${edge.source} ${edge.target}`} className={`${isLit ? "lit" : "unlit"}${edge.parent ? " back" : ""}`}>
            <path className="line" d={line} />
            <path className="arrow" d={head} />
          </g>
        ))}
      </svg>
      {drawn.map(({ edge, isLit, middle }) =>
        edge.percent === null && !edge.parent ? null : (
          <span key={`${edge.source} ${edge.target}`} className={`share ${isLit ? "lit" : "unlit"}`} style={{ top: middle }}>
            {edge.parent ? "parent" : `${figure(edge.percent ?? 0)} %`}
          </span>
        ),
      )}
    </div>
  );
}
