// Why a request failed, in the server's own words (RFC 9457) or, where it could not answer, in ours.
export interface Violation {
  pointer: string;
  rule: string;
  remedy: string;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  remedy?: string;
  errors?: Violation[];
  requestId?: string;
}

/** A text and its remedy as sentences. */
export function withRemedy(text: string, remedy = ""): string {
  const ended = text === "" || remedy === "" || /[.!?]$/.test(text) ? text : `${text}.`;
  return [ended, remedy].filter(Boolean).join(" ");
}

/** A request that was refused or could not be made. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

/** The problem behind any thrown value. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  if (error instanceof TypeError || isUnfetched(error)) return UNREACHABLE;
  const detail = error instanceof Error ? error.message : String(error);
  return { type: "/problems/unexpected", title: "Unexpected error", status: 0, detail };
}

// Each browser has words of its own for code of a page that could not be fetched.
const UNFETCHED = /preload CSS|dynamically imported module|Importing a module script/;

/** Whether it is the code of a page that did not arrive. */
export function isUnfetched(error: unknown): boolean {
  return error instanceof Error && UNFETCHED.test(error.message);
}

export const UNREACHABLE: Problem = {
  type: "/problems/unreachable",
  title: "Can't reach the server",
  status: 0,
  detail: "The request failed. The connection may be down, or the server may be restarting.",
  remedy: "No data is lost. The page reconnects automatically.",
};

/** The problem of a failed response; other responses give a generic one. */
export async function problemFrom(answer: Response): Promise<Problem> {
  const body: unknown = await answer
    .clone()
    .json()
    .catch(() => null);
  if (isProblem(body)) return { ...body, status: answer.status };
  return {
    type: "/problems/unexpected",
    title: answer.statusText || "Request refused",
    status: answer.status,
    detail: `The server answered with status ${answer.status} and no explanation.`,
    requestId: answer.headers.get("x-request-id") ?? undefined,
  };
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "title" in body && "detail" in body;
}
