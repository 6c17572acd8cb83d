import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Capacity, Share } from "../api/wire";
import { bytes, cores, ratio } from "../text/amounts";
import { figure } from "../text/format";
import { Icon, type IconName } from "./icon";
import { Meter, Track } from "./meter";

/** What the cluster has and what is free: GPUs, CPU, memory. */
export function Amounts({ capacity }: { capacity: Capacity }) {
  const { gpus, cpu, memory } = capacity;
  return (
    <>
      <Amount title="GPUs" icon="gpu" width="w5" share={gpus} words={figure}>
        {capacity.largestBlockNode === "" ? null : (
          <span className="dim aside">
            largest free block: <b>{figure(capacity.largestBlock)}</b> on{" "}
            <Link to="/nodes/$name" params={{ name: capacity.largestBlockNode }}>
              <code>{capacity.largestBlockNode}</code>
            </Link>
          </span>
        )}
      </Amount>
      <Amount title="CPU cores" icon="cpu" width="w2" share={cpu} words={cores} />
      <Amount title="Memory" icon="memory" width="w2" share={memory} words={bytes} />
    </>
  );
}

interface AmountProps {
  readonly title: string;
  readonly icon: IconName;
  readonly width: string;
  readonly share: Share;
  readonly words: (value: number) => string;
  readonly children?: ReactNode;
}

function Amount({ title, icon, width, share, words, children }: AmountProps) {
  const { total, requested, free, closed } = share;
  const wide = width === "w5";
  return (
    <section className={`card amount ${width}`} aria-label={title}>
      <h2>
        <Icon name={icon} small /> {title}
        {children}
      </h2>
      {total === 0 ? (
        <p className="big">
          – <small>no node has any</small>
        </p>
      ) : free === null || requested === null ? (
        <p className="big">
          – <small>free of {words(total)}</small>
        </p>
      ) : (
        <>
          <p className="big">
            {words(free)} <small>free of {words(total)}</small>
          </p>
          {wide ? (
            <Meter
              total={total}
              words={words}
              parts={[
                { tone: "busy", title: "requested", value: requested },
                { tone: "free", title: "free", value: free },
                { tone: "closed", title: "on nodes that take no pods", value: closed ?? 0 },
              ]}
            />
          ) : (
            <Track value={ratio(requested, total)} />
          )}
          {wide ? null : <p className="dim small">of it requested</p>}
        </>
      )}
    </section>
  );
}
