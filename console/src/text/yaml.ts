// Writes objects as YAML in block style. Pure. Reading is left to the server: it has the parser, with bounds.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const INDENT = "  ";
// Words that stay text without quotes in every version of YAML; all else is quoted as JSON, which YAML can read.
const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./@-]*(:[A-Za-z0-9_./@-]+)*$/;
const OTHER_TYPES = /^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i;

/** An object as text, with a line break at its end. */
export const toYaml = (value: Json): string => `${lines(value, "").join("\n")}\n`;

function lines(value: Json, indent: string): readonly string[] {
  if (Array.isArray(value) && value.length > 0) return (value as readonly Json[]).flatMap((one) => item(one, indent));
  if (isObject(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([key, one]) => entry(key, one, indent));
  return [`${indent}${scalar(value)}`];
}

function entry(key: string, value: Json, indent: string): readonly string[] {
  const head = `${indent}${quoted(key)}:`;
  if (isLong(value)) return [`${head} |-`, ...value.split("\n").map((line) => (line === "" ? "" : `${indent}${INDENT}${line}`))];
  return hasParts(value) ? [head, ...lines(value, indent + INDENT)] : [`${head} ${scalar(value)}`];
}

/** The first line of a part stands behind its dash. */
function item(value: Json, indent: string): readonly string[] {
  if (!hasParts(value)) return [`${indent}- ${scalar(value)}`];
  const inner = lines(value, indent + INDENT);
  return [`${indent}- ${(inner[0] ?? "").slice(indent.length + INDENT.length)}`, ...inner.slice(1)];
}

const hasParts = (value: Json): boolean =>
  Array.isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;

/** Text of several lines that a block can hold as it is: no spaces at ends of lines, and nothing that is not printed. */
const isLong = (value: Json): value is string =>
  typeof value === "string" && /^\S[^\n]*\n/.test(value) && !/[ \t]\n|\n$|[ \t]$|[^\n\x20-\x7e\u00a1-\u024f]/.test(value);

function scalar(value: Json): string {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return "[]";
  return isObject(value) ? "{}" : String(value);
}

const quoted = (text: string): string => (PLAIN.test(text) && !OTHER_TYPES.test(text) ? text : escaped(text));

/** JSON, in which control characters of Unicode that YAML does not take as they are, are escaped too. */
const escaped = (text: string): string =>
  JSON.stringify(text).replace(/[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
