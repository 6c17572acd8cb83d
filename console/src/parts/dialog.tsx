import { type ReactNode, useEffect, useRef } from "react";

/** A question over the page. The browser keeps the focus inside, and Escape closes it. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ReactNode }) {
  const place = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = place.current;
    if (dialog !== null && !dialog.open) dialog.showModal();
  }, []);
  return (
    <dialog ref={place} className="dialog" aria-label={title} onClose={close}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
