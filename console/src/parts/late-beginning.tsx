import { duration } from "../text/format";

/** Says that a log may have had other lines before its first one; `silence` is how long its container had run, in milliseconds. */
export function LateBeginning({ silence }: { silence: number }) {
  if (silence <= 0) return null;
  return (
    <p className="note gap">
      Lines before line 1 may be missing: the container had run for {duration(silence)} when it wrote that one, and of a log that its node has rotated
      only the end is left.
    </p>
  );
}
