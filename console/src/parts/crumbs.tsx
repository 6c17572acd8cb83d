import { Link } from "@tanstack/react-router";
import { Icon } from "./icon";

/** The way back to a list. */
export function Crumbs({ to, title, more }: { to: "/jobs" | "/models" | "/services" | "/crons" | "/nodes"; title: string; more: string }) {
  return (
    <div className="crumbs">
      <Link to={to}>{title}</Link>
      {more === "" ? null : (
        <>
          <Icon name="right" small />
          <span>{more}</span>
        </>
      )}
    </div>
  );
}
