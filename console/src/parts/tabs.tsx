import type { KeyboardEvent } from "react";
import { figure } from "../text/format";

interface Props<Id extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly id: Id; readonly title: string }[];
  readonly counts: Readonly<Partial<Record<Id, number>>>; // nothing for what is not known yet
  readonly chosen: Id;
  readonly choose: (id: Id) => void;
  readonly inside?: boolean; // of a card
}

const PANEL = "tab-panel"; // a page has one row of tabs

/** What a panel says about itself: which tab it belongs to. */
export const panelOf = (chosen: string) => ({ id: PANEL, role: "tabpanel", "aria-labelledby": `tab-${chosen}` }) as const;

/** Tabs as one stop of the Tab key: arrows, Home and End choose among them. */
export function Tabs<Id extends string>({ label, tabs, counts, chosen, choose, inside = false }: Props<Id>) {
  const onKey = (event: KeyboardEvent<HTMLElement>): void => {
    const last = tabs.length - 1;
    const at = tabs.findIndex(({ id }) => id === chosen);
    const targets: Readonly<Record<string, number>> = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at <= 0 ? last : at - 1,
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    const next = target === undefined ? undefined : tabs[target];
    if (target === undefined || next === undefined) return;
    event.preventDefault();
    choose(next.id);
    (event.currentTarget.children[target] as HTMLElement).focus();
  };
  return (
    <div className={inside ? "tabs inside" : "tabs"} role="tablist" aria-label={label} onKeyDown={onKey}>
      {tabs.map(({ id, title }) => {
        const count = counts[id];
        return (
          <button
            key={id}
            id={`tab-${id}`}
            role="tab"
            aria-selected={chosen === id}
            aria-controls={PANEL}
            tabIndex={chosen === id ? 0 : -1}
            onClick={() => choose(id)}
          >
            {title}
            <span className="n">{count === undefined ? "" : figure(count)}</span>
          </button>
        );
      })}
    </div>
  );
}
