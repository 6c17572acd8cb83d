import { memo } from "react";
import { readiness } from "../text/format";

const MOST = 8; // bars; more pods than that are a figure alone

/** Ready pods of all: as bars, and as figures. */
export const Ready = memo(function Ready({ text }: { text: string }) {
  const found = readiness(text);
  if (found === null) return <span className="dim">{text || "–"}</span>;
  return (
    <span className="bars">
      {found.wanted <= MOST
        ? Array.from({ length: found.wanted }, (_, index) => <i key={index} className={index < found.ready ? "yes" : "no"} />)
        : null}
      {text}
    </span>
  );
});
