import { percent } from "../text/amounts";

export interface Part {
  readonly tone: "busy" | "free" | "closed";
  readonly title: string;
  readonly value: number;
}

/** A whole as one bar with its figures as legend. */
export function Meter({ parts, total, words }: { parts: readonly Part[]; total: number; words: (value: number) => string }) {
  const shown = parts.filter(({ value }) => value > 0);
  return (
    <>
      <div className="meter" aria-hidden="true">
        {shown.map(({ tone, value, title }) => (
          <i key={title} className={`part-${tone}`} style={{ width: `${(value / Math.max(total, 1)) * 100}%` }} />
        ))}
      </div>
      <div className="legend">
        {parts.map(({ tone, title, value }) => (
          <span key={title}>
            <i className={`key part-${tone}`} />
            {title} <b>{words(value)}</b>
          </span>
        ))}
      </div>
    </>
  );
}

/** A small bar with its figure: how much of a whole one row has. */
export function Track({ value }: { value: number | null }) {
  if (value === null) return <span className="dim">–</span>;
  return (
    <span className="trackbox">
      <span className="track" aria-hidden="true">
        <i style={{ width: `${value}%` }} />
      </span>
      <span className="dim">{percent(value)}</span>
    </span>
  );
}
