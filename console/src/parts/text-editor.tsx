import { useRef } from "react";

interface Props {
  readonly label: string;
  readonly value: string;
  readonly wrong: readonly number[]; // lines that something is said about, from 1
  readonly change: (value: string) => void;
}

/** Text in lines with their numbers. Tab leaves it, as everywhere on the page. */
export function TextEditor({ label, value, wrong, change }: Props) {
  const numbers = useRef<HTMLPreElement>(null);
  const count = value.split("\n").length;
  return (
    <div className="editor">
      <pre ref={numbers} aria-hidden="true">
        {Array.from({ length: count }, (_, index) => (
          <span key={index} className={wrong.includes(index + 1) ? "wrong" : undefined}>
            {index + 1}
            {"\n"}
          </span>
        ))}
      </pre>
      <textarea
        aria-label={label}
        value={value}
        spellCheck={false}
        autoCapitalize="off"
        autoCorrect="off"
        wrap="off"
        onChange={({ target }) => change(target.value)}
        onScroll={({ currentTarget }) => {
          if (numbers.current !== null) numbers.current.scrollTop = currentTarget.scrollTop;
        }}
      />
    </div>
  );
}
