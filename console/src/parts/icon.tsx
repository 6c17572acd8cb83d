// Signs, drawn from the Lucide set (ISC licence).
import { SIGNS } from "./icon-signs";
import { THINGS } from "./icon-things";

const PATHS = { ...SIGNS, ...THINGS };

export type IconName = keyof typeof PATHS;

export function Icon({ name, small = false }: { name: IconName; small?: boolean }) {
  return (
    <svg className={small ? "icon small" : "icon"} viewBox="0 0 24 24" aria-hidden="true">
      {PATHS[name]}
    </svg>
  );
}
