import { Icon } from "./icon";

/** A field that narrows a list. */
export function SearchLine({ value, hint, change }: { value: string; hint: string; change: (value: string) => void }) {
  return (
    <label className="query">
      <Icon name="search" small />
      <span className="sr">Search</span>
      <input type="search" placeholder={hint} maxLength={253} value={value} onChange={(event) => change(event.target.value)} />
    </label>
  );
}
