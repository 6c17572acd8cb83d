// A command as one line, as a shell reads it: words, and quotes around what has spaces. Pure.

/** The words of a line; null if a quote is not closed. There are no variables, pipes and patterns. */
export function wordsOf(line: string): readonly string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const sign = line.charAt(at);
    if (quote === "'" ? sign === "'" : quote === '"' && sign === '"') quote = "";
    else if (quote === "" && (sign === "'" || sign === '"')) {
      quote = sign;
      word ??= "";
    } else if (sign === "\\" && quote !== "'" && at + 1 < line.length) {
      const next = line.charAt(at + 1);
      const kept = quote === "" || next === '"' || next === "\\";
      word = (word ?? "") + (kept ? next : sign + next);
      at += 1;
    } else if (quote === "" && /\s/.test(sign)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + sign;
  }
  if (quote !== "") return null;
  return word === null ? words : [...words, word];
}

/** The line of some words, which `wordsOf` reads again. */
export const lineOf = (words: readonly string[]): string => words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
