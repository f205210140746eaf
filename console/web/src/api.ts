// Calls of the server. Every answer is JSON; every refusal says what went wrong, and what to do.
import { signal } from "@preact/signals";
import type { ErrorAnswer, Failure, SessionAnswer } from "./answers";

/** A call that was refused, or not answered. */
export class Refused extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

/** The signed-in user. `undefined`: not known yet; `null`: nobody. */
export const session = signal<SessionAnswer | null | undefined>(undefined);

const UNREACHED: Failure = {
  code: 0,
  reason: "Unreachable",
  message: "The console does not answer.",
  remedy: "See whether berth console still runs in its terminal.",
};

/** Sends a request. A refusal is thrown. */
export async function request(method: "GET" | "POST" | "DELETE", path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const init: RequestInit = { method, credentials: "same-origin", headers: {}, signal: signal ?? null };
  if (method !== "GET") init.headers = { "X-Berth-Console": "1", "Content-Type": "application/json" };
  if (body !== undefined) init.body = JSON.stringify(body);
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    throw new Refused(UNREACHED);
  }
  if (response.ok) return response;
  const refused = await refusal(response);
  if (refused.code === 401) session.value = null;
  throw new Refused(refused);
}

export async function call<T>(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
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

/** Signs in with the code of the address, if it has one, and asks who the user is. */
export async function begin(): Promise<Failure | undefined> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) {
    // The code must not stay in the history.
    history.replaceState(history.state, "", location.pathname + location.search);
    const failure = await signIn(code);
    if (failure) return failure;
  }
  try {
    session.value = await call<SessionAnswer>("GET", "/api/session");
    return undefined;
  } catch (error) {
    session.value = null;
    const failure = failureOf(error);
    return failure.code === 401 ? undefined : failure;
  }
}

export async function signIn(code: string): Promise<Failure | undefined> {
  try {
    await call("POST", "/api/session", { code });
    session.value = await call<SessionAnswer>("GET", "/api/session");
    return undefined;
  } catch (error) {
    session.value = null;
    return failureOf(error);
  }
}

export async function signOut(): Promise<void> {
  try {
    await call("DELETE", "/api/session");
  } finally {
    session.value = null;
  }
}
