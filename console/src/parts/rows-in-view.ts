import { type RefCallback, useCallback, useState } from "react";
import { flushSync } from "react-dom";
import { inElements, type RowWindow, rowsAt } from "../live/row-window";

const REST = 200; // milliseconds without scrolling

interface InView {
  readonly port: RefCallback<HTMLElement>; // of what scrolls
  readonly drawn: RowWindow;
  readonly order: readonly number[]; // rows, as their elements follow each other
}

/**
 * The rows to draw of a long list, all of one height. When the list has come to rest, or the Tab key is pressed, their
 * elements are put into the order of the rows: the Tab key and screen readers go by it.
 */
export function useRowsInView(total: number, height: number): InView {
  const [top, setTop] = useState(0);
  const [rested, setRested] = useState(0); // the row at the top when the list was at rest
  const [fit, setFit] = useState(0);
  const port = useCallback(
    (element: HTMLElement | null) => {
      if (element === null) return;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const row = (): number => Math.floor(element.scrollTop / height);
      const rest = (): void => setRested(row());
      const scrolled = (): void => {
        flushSync(() => setTop(row())); // in the frame that scrolls, not in the one after
        clearTimeout(timer);
        timer = setTimeout(rest, REST);
      };
      const pressed = ({ key }: KeyboardEvent): void => void (key === "Tab" && flushSync(rest)); // before the focus moves
      const sized = (): void => setFit(Math.ceil(element.clientHeight / height));
      const observer = new ResizeObserver(sized);
      element.addEventListener("scroll", scrolled, { passive: true });
      element.addEventListener("keydown", pressed);
      observer.observe(element);
      sized();
      setTop(row());
      rest();
      return () => {
        clearTimeout(timer);
        element.removeEventListener("scroll", scrolled);
        element.removeEventListener("keydown", pressed);
        observer.disconnect();
      };
    },
    [height],
  );
  const drawn = rowsAt(total, top, fit);
  return { port, drawn, order: inElements(drawn, rowsAt(total, rested, fit).first) };
}
