// Light or dark: as the system says, until a person chooses.
import { useEffect, useState } from "react";

type Theme = "light" | "dark";
const KEY = "kubedl-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

function chosen(): Theme | null {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    return null; // storage is off
  }
}

export const currentTheme = (): Theme => chosen() ?? (system.matches ? "dark" : "light");

export function showTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
}

export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState(currentTheme);
  useEffect(() => {
    const follow = (): void => setTheme(currentTheme());
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, []);
  useEffect(() => showTheme(theme), [theme]);
  const flip = (): void => {
    const next: Theme = theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // the choice lasts as long as the page
    }
    setTheme(next);
  };
  return [theme, flip];
}
