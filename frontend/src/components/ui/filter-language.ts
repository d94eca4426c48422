// Filters as tokens such as `queue:main`: which fields there are, what a word means, and what may be written next.
export interface FilterField {
  name: string;
  /** What it is, beside its name among the suggestions. */
  words: string;
  /** It has one value: a second one takes the place of the first. */
  single?: boolean;
  /** Whether a value can be asked for; without it any that is not empty. */
  accepts?: (value: string) => boolean;
}

export interface FilterLanguage {
  fields: readonly FilterField[];
  /** What a word without a field is: one text with all its characters, one of several words, or a value of a field. */
  bare: "text" | "words" | { field: string };
  /** Whether `-` before a token leaves out what it names. */
  excludes?: boolean;
}

export interface TokenParts {
  excludes: boolean;
  /** Empty for a word without a field. */
  field: string;
  value: string;
}

export interface Suggestion {
  /** What is written instead of the draft; one that ends with a colon is written on. */
  token: string;
  words: string;
}

const MAX_VALUES = 12;

/** A token taken apart; fields are known in any case, and without a known one it has none. */
export function partsIn({ fields, excludes: hasSign = false }: FilterLanguage, token: string): TokenParts {
  const excludes = hasSign && token.startsWith("-") && token.length > 1;
  const rest = excludes ? token.slice(1) : token;
  const colon = rest.indexOf(":");
  const written = rest.slice(0, Math.max(0, colon)).trim().toLowerCase();
  const field = fields.find(({ name }) => name.toLowerCase() === written)?.name ?? "";
  return field === "" ? { excludes, field, value: rest } : { excludes, field, value: rest.slice(colon + 1) };
}

/** The token that a draft makes; undefined where it can not be filtered by as it stands. */
export function tokenOf(language: FilterLanguage, draft: string): string | undefined {
  const { excludes, field, value } = partsIn(language, draft.trim());
  const text = value.trim();
  if (text === "") return undefined;
  if (field !== "") {
    const known = language.fields.find(({ name }) => name === field);
    return (known?.accepts?.(text) ?? true) ? `${excludes ? "-" : ""}${field}:${text}` : undefined;
  }
  if (language.bare === "text") return text;
  if (text.includes(":")) return undefined;
  return language.bare === "words" ? `${excludes ? "-" : ""}${text}` : `${language.bare.field}:${text}`;
}

/** The tokens with one more: once, instead of its opposite, and instead of what the same field had if it has one value. */
export function withToken(language: FilterLanguage, tokens: readonly string[], token: string): string[] {
  const { excludes, field } = partsIn(language, token);
  const opposite = excludes ? token.slice(1) : `-${token}`;
  const isSingle = field === "" ? language.bare === "text" : language.fields.some(({ name, single }) => name === field && single);
  const stays = (known: string) => known !== token && known !== opposite && !(isSingle && partsIn(language, known).field === field);
  return [...tokens.filter(stays), token];
}

/** Fields for the beginning of a name. */
export function fieldsFor(language: FilterLanguage, { excludes, value }: TokenParts): Suggestion[] {
  const begin = value.trim().toLowerCase();
  return language.fields.filter(({ name }) => name.toLowerCase().startsWith(begin)).map(({ name, words }) => ({ token: `${excludes ? "-" : ""}${name}:`, words }));
}

/** Values of a field that contain what is written, the most frequent first, each with its number of a unit such as "event". */
export function frequentValues(field: string, part: string, counts: ReadonlyMap<string, number>, unit: string): Suggestion[] {
  return [...counts]
    .filter(([value]) => value !== "" && value.toLowerCase().includes(part.trim().toLowerCase()))
    .sort(([one, most], [other, least]) => least - most || one.localeCompare(other))
    .slice(0, MAX_VALUES)
    .map(([value, count]) => ({ token: `${field}:${value}`, words: `${count} ${unit}${count === 1 ? "" : "s"}` }));
}
