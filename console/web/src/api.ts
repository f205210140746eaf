// Calls of the server. Every answer is JSON; every refusal says what went wrong, and what to do.
import { signal } from "@preact/signals";
import type { ErrorAnswer, Failure, SessionAnswer } from "./answers";
import { heard } from "./time";

/** A call that was refused, or not answered. */
export class Refused extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** The route of the session. */
export const SESSION = "/api/session";

/** The signed-in user. `undefined`: not known yet; `null`: nobody. */
export const session = signal<SessionAnswer | null | undefined>(undefined);

/** The session of the page has ended, and the user is asked to sign in again. What is shown and typed stays. */
export const ended = signal(false);

const UNREACHED: Failure = {
  code: 0,
  reason: "Unreachable",
  message: "The console does not answer.",
  remedy: "See whether berth console still runs in its terminal.",
};

type Method = "GET" | "POST" | "DELETE";

/** Sends a request. A refusal is thrown. If the session has ended, the request is sent once more after the next sign-in. */
export async function request(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  for (;;) {
    const response = await send(method, path, body, signal);
    if (response.ok) return response;
    const refused = await refusal(response);
    if (refused.code !== 401 || path === SESSION || !session.value) throw new Refused(refused);
    // Without a session the server does nothing, so that what is sent again is done once.
    ended.value = true;
    await nextSignIn(signal);
  }
}

/** Waits for the next sign-in. */
function nextSignIn(closed?: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const stop = ended.subscribe((still) => {
      if (!still) done(queueMicrotask(() => stop()));
    });
    closed?.addEventListener("abort", () => (stop(), fail(new Refused(UNREACHED))), { once: true });
  });
}

async function send(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const init: RequestInit = { method, credentials: "same-origin", headers: {}, signal: signal ?? null };
  if (method !== "GET") init.headers = { "X-Berth-Console": "1", "Content-Type": "application/json" };
  if (body !== undefined) init.body = JSON.stringify(body);
  const sent = Date.now();
  try {
    const response = await fetch(path, init);
    heard(response.headers.get("date"), sent);
    return response;
  } catch {
    throw new Refused(UNREACHED);
  }
}

export async function call<T>(method: Method, path: string, body?: unknown): Promise<T> {
  const response = await request(method, path, body);
  return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
}

async function refusal(response: Response): Promise<Failure> {
  try {
    return ((await response.json()) as ErrorAnswer).error;
  } catch {
    return { code: response.status, reason: "Unreadable", message: `The console answered with code ${response.status}.` };
  }
}

/** What went wrong, whatever was thrown. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Refused) return error.failure;
  return { code: 0, reason: "Failed", message: String(error) };
}
