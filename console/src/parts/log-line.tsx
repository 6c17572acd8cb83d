import { memo } from "react";
import { plain } from "../live/log";
import { figure } from "../text/format";

interface Props {
  readonly number: number; // 0: what is lost between two lines
  readonly time: string;
  readonly text: string;
  readonly top: number; // pixels
  readonly chosen: boolean;
  readonly choose: (line: number, time: string) => void;
}

/** A line of a log. Its number chooses it by pointer; by keyboard the field for a number does. */
export const LogLine = memo(function LogLine({ number, time, text, top, chosen, choose }: Props) {
  if (number === 0)
    return (
      <div className="line gap" style={{ transform: `translateY(${top}px)` }}>
        <span className="number" />
        <span className="text">{text}</span>
      </div>
    );
  return (
    <div className={chosen ? "line chosen" : "line"} aria-current={chosen ? "location" : undefined} style={{ transform: `translateY(${top}px)` }}>
      <span className="number" title="Choose this line, so that the address leads to it" onClick={() => choose(number, time)}>
        {figure(number)}
      </span>
      <time title={time}>{time.slice(11, 23)}</time>
      <span className={`text${level(text)}`}>{plain(text)}</span>
    </div>
  );
});

function level(text: string): string {
  if (/\b(error|fatal|exception|traceback|killed)\b/i.test(text)) return " error";
  return /\bwarn(ing)?\b/i.test(text) ? " warning" : "";
}
