// Carrying out one action on one or many objects, with a result for each.
export interface Target {
  key: string;
  /** Why the action cannot be taken on it; undefined means it can. */
  refusal?: string;
}

export interface ActionInput {
  reason: string;
  /** 0 means until a user ends it. */
  expirySeconds: number;
  expiresAt?: string;
}

export interface Outcome {
  error?: unknown;
}

export const EXPIRIES = [
  { value: "0", words: "Never" },
  { value: "3600", words: "In 1 hour" },
  { value: "14400", words: "In 4 hours" },
  { value: "86400", words: "In 1 day" },
  { value: "604800", words: "In 1 week" },
] as const;

const AT_ONCE = 4;

/** When it ends by itself, as RFC 3339; undefined means never. */
export function expiryAt(seconds: number, now: number): string | undefined {
  return seconds > 0 ? new Date(now + seconds * 1000).toISOString() : undefined;
}

/** The body every action takes. */
export function actionBody(input: ActionInput): { reason: string; expiresAt?: string } {
  return input.expiresAt === undefined ? { reason: input.reason } : { reason: input.reason, expiresAt: input.expiresAt };
}

/** Runs the action for every key, a few at a time; one failure stops none of the others. */
export async function runAll(
  keys: string[],
  run: (key: string) => Promise<unknown>,
  report: (key: string, outcome: Outcome) => void,
): Promise<Outcome[]> {
  const waiting = [...keys];
  const outcomes: Outcome[] = [];
  const work = async () => {
    for (let key = waiting.shift(); key !== undefined; key = waiting.shift()) {
      const outcome: Outcome = await run(key).then(
        () => ({}),
        (error: unknown) => ({ error }),
      );
      outcomes.push(outcome);
      report(key, outcome);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcomes;
}

/** Runs the action for all keys in one request; where it fails, it fails for each. */
export async function runTogether(
  keys: string[],
  run: () => Promise<Outcome[]>,
  report: (key: string, outcome: Outcome) => void,
): Promise<void> {
  const outcomes = await run().catch((error: unknown) => keys.map((): Outcome => ({ error })));
  keys.forEach((key, place) => report(key, outcomes[place] ?? {}));
}

/** Text as one argument of a shell command. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The same request for curl, with the token left to the shell. */
export function curlOf(method: "GET" | "POST", address: string, body?: unknown): string {
  const lines = [`curl -sS ${method === "POST" ? "-X POST " : ""}-H "Authorization: Bearer $HEADGATE_TOKEN"`];
  if (body !== undefined) lines.push(`-H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`);
  lines.push(quoted(address));
  return lines.join(" \\\n  ");
}
