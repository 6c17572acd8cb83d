/** The title of the window for an address: what is open, its page, the product. */
export function pageTitle(path: string, pages: readonly { readonly to: string; readonly title: string }[]): string {
  const [first = "", ...rest] = path.split("/").filter((part) => part !== "");
  const page = pages.find(({ to }) => to === `/${first}`);
  const name = page === undefined ? undefined : rest[Math.min(rest.length - 1, 2)]; // a deleted job's uid comes after its name
  return [name, page?.title ?? "No such page", "KubeDL"].filter((part) => part !== undefined).join(" · ");
}
