// Where the console is on its host. The server writes it into the page.

const given = typeof document === "undefined" ? "" : (document.querySelector<HTMLMetaElement>('meta[name="console-path"]')?.content ?? "");

/** The path below which browsers have the console, such as "/kubedl"; empty: the whole host. */
export const BASE = given.startsWith("/") ? given : "";

/** The address of something that the server has, on this host. */
export const at = (path: string): string => BASE + path;
