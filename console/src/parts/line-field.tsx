import { useState } from "react";

/** A number of a line to go to. */
export function LineField({ total, go }: { total: number; go: (line: number) => void }) {
  const [text, setText] = useState("");
  const wanted = Number(text);
  return (
    <form
      className="field linefield"
      onSubmit={(event) => {
        event.preventDefault();
        if (Number.isInteger(wanted) && wanted > 0) go(Math.min(wanted, Math.max(1, total)));
      }}
    >
      <label>
        <span className="sr">Go to line</span>
        <input inputMode="numeric" placeholder="Line" value={text} onChange={(event) => setText(event.target.value)} />
      </label>
    </form>
  );
}
