import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";

const STOPS = "button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), a[href]";

/** A question over the page. Escape closes it, unless it has no `close`; the focus stays inside, and goes back to where it came from. */
export function Dialog({ title, close, children }: { title: string; close?: () => void; children: ReactNode }) {
  const place = useRef<HTMLDialogElement>(null);
  const opener = useRef(document.activeElement);
  useEffect(() => {
    const dialog = place.current;
    if (dialog !== null && !dialog.open) dialog.showModal();
    const { current: before } = opener;
    return () => {
      // After the dialog is gone: until then everything behind it is inert.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      else document.getElementById("main")?.focus();
    };
  }, []);
  // Without this, Tab leaves the last button for the bars of the browser.
  const turn = (event: KeyboardEvent<HTMLDialogElement>): void => {
    if (event.key !== "Tab") return;
    const stops = [...event.currentTarget.querySelectorAll<HTMLElement>(STOPS)];
    const [edge, other] = event.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
    if (document.activeElement !== edge) return;
    event.preventDefault();
    other?.focus();
  };
  return (
    <dialog ref={place} className="dialog" aria-label={title} onClose={close} onKeyDown={turn} {...(close === undefined ? { closedby: "none" } : {})}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
