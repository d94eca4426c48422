// Every request of the interface: signed, at least as fresh as what is already known, problems as exceptions.
import createClient, { type Middleware } from "openapi-fetch";

import { PAST_REFUSAL, shownMoment, withMoment } from "@/lib/past";

import type { paths } from "./generated/schema";
import { knownPosition, notePosition } from "./position";
import { ProblemError, UNREACHABLE, problemFrom } from "./problem";
import { currentToken, forgetRefusedToken } from "./session";
import type { Simulation } from "./types";

/** The API as its description has it: `api.GET("/v1/queues")`. */
export const api = createClient<paths>({
  // Looked up at each call, and relative to the page the interface was served with.
  fetch: (request) => fetch(request),
  baseUrl: typeof window === "undefined" ? "" : window.location.origin,
});

/** Simulations are allowed in the past: they change nothing. */
const SIMULATIONS = "/v1/simulations";
const IN_THE_PAST = { type: "/problems/past", title: "Read-only", status: 422, detail: PAST_REFUSAL };

let reads = 0;

/** How many reads the interface has sent so far. */
export function readsSent(): number {
  return reads;
}

const requestPolicy: Middleware = {
  onRequest({ request }) {
    sign(request.headers);
    const address = new URL(request.url);
    if (request.method === "GET") {
      reads++;
      return new Request(withMoment(address, shownMoment(), knownPosition()), request);
    }
    request.headers.set("Idempotency-Key", crypto.randomUUID());
    if (shownMoment() === "") return request;
    if (address.pathname !== SIMULATIONS) throw new ProblemError(IN_THE_PAST);
    address.searchParams.set("at", shownMoment());
    return new Request(address, request);
  },
  async onResponse({ request, response }) {
    const answer = await itemByItem(response);
    await refuseProblem(answer);
    if (request.method !== "GET") notePosition(Number(answer.headers.get("x-log-position") ?? 0));
    return answer;
  },
  onError({ error }) {
    return isAbort(error) ? (error as Error) : new ProblemError(UNREACHABLE);
  },
};
api.use(requestPolicy);

/** The content of a good answer; anything else has been thrown before. */
export async function contentOf<Content>(call: Promise<{ data?: Content }>): Promise<Content> {
  const { data: content } = await call;
  return content as Content;
}

/** As `contentOf`, of a write; a simulation is the answer only where `dryRun=Admission` asks for it. */
export async function writtenOf<Content>(call: Promise<{ data?: Content }>): Promise<Exclude<Content, Simulation>> {
  return (await contentOf(call)) as Exclude<Content, Simulation>;
}

/** Opens the server's stream from after a position. */
export async function openStream(after: number, signal: AbortSignal): Promise<Response> {
  const headers = new Headers({ Accept: "text/event-stream" });
  sign(headers);
  if (after > 0) headers.set("Last-Event-ID", String(after));
  const answer = await fetch(after > 0 ? `/v1/stream?after=${after}` : "/v1/stream", { headers, signal });
  await refuseProblem(answer);
  return answer;
}

/** Opens output of pods, as text or, when it is followed, as a stream of events. */
export async function openLogs(path: string, query: Record<string, string>, signal?: AbortSignal): Promise<Response> {
  const headers = new Headers();
  sign(headers);
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  if (shownMoment() !== "") asked.set("at", shownMoment());
  const answer = await fetch(`${path}?${asked}`, { headers, signal });
  await refuseProblem(answer);
  return answer;
}

/** Saves an answer of the server as a file. */
export async function download(path: string, query: Record<string, string>, filename: string): Promise<void> {
  const answer = await openLogs(path, query);
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = filename;
  link.click();
  URL.revokeObjectURL(address);
}

function sign(headers: Headers): void {
  const token = currentToken();
  if (token !== null) headers.set("Authorization", `Bearer ${token}`);
}

/** A fully rejected batch has a result for each item, as a partly accepted one does. */
async function itemByItem(answer: Response): Promise<Response> {
  if (answer.status !== 422) return answer;
  const body: unknown = await answer
    .clone()
    .json()
    .catch(() => null);
  const tells = typeof body === "object" && body !== null && "results" in body;
  return tells ? new Response(JSON.stringify(body), { status: 207, headers: answer.headers }) : answer;
}

async function refuseProblem(answer: Response): Promise<void> {
  if (answer.ok) return;
  if (answer.status === 401) forgetRefusedToken();
  throw new ProblemError(await problemFrom(answer));
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
