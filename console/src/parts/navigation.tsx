import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { useRows } from "../session";
import { figure } from "../text/format";
import { Icon, type IconName } from "./icon";

/** The pages, in order; `key` after G opens one. */
export const PAGES = [
  { to: "/", title: "Overview", icon: "overview", key: "o" },
  { to: "/jobs", title: "Jobs", icon: "jobs", key: "j" },
  { to: "/models", title: "Models", icon: "models", key: "m" },
  { to: "/services", title: "Services", icon: "services", key: "s" },
  { to: "/queues", title: "Queues", icon: "queues", key: "q" },
  { to: "/nodes", title: "Nodes", icon: "nodes", key: "n" },
  { to: "/crons", title: "Crons", icon: "crons", key: "c" },
  { to: "/cost", title: "Cost", icon: "cost", key: "t" },
] as const satisfies readonly { to: string; title: string; icon: IconName; key: string }[];

export function Links() {
  const running = useRows().filter((row) => row.state === "Running").length;
  return PAGES.map(({ to, title, icon }) => (
    <Link key={to} to={to} activeOptions={{ exact: to === "/", includeSearch: false }}>
      <Icon name={icon} />
      <span className="cut">{title}</span>
      {to === "/jobs" && running > 0 ? (
        <span className="count" title={`${running} running`}>
          {figure(running)}
        </span>
      ) : null}
    </Link>
  ));
}

const SOON = 1500; // milliseconds between G and the letter of a page

/** G, then the letter of a page, opens it; not while somebody types or is asked something. */
export function useGoKeys(): void {
  const navigate = useNavigate();
  useEffect(() => {
    let asked = 0;
    const onKey = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLElement && event.target.closest("input, textarea, select") !== null;
      const asks = document.querySelector("dialog[open]") !== null; // a click into it may leave the focus outside
      if (typing || asks || event.ctrlKey || event.metaKey || event.altKey) return;
      const page = Date.now() - asked < SOON ? PAGES.find(({ key }) => key === event.key.toLowerCase()) : undefined;
      asked = event.key.toLowerCase() === "g" ? Date.now() : 0;
      if (page !== undefined) void navigate({ to: page.to });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [navigate]);
}
