// Sign-in and sign-out. A session that ends while the page is open is begun again over the page, which goes on.
import type { Failure, SessionAnswer, SignInAnswer, SignInRequest } from "./answers";
import { SESSION, call, ended, failureOf, session } from "./api";
import { tell } from "./parts";

/** The other tabs of this console: each says when its user has signed in. */
const tabs = new BroadcastChannel("berth-console");

/** A sign-in in another tab is looked for this often, and at most so many times without another press. */
const PAUSE = 3_000;
const MOST_LOOKS = 400;

/** What the server says in the address after a sign-in at the provider that has failed. */
const FAILURES: Record<string, [string, string]> = {
  denied: ["The provider has not signed you in.", "Try again. If it refuses again, ask an admin of the provider whether you may use the console."],
  expired: ["The sign-in took too long, or was begun in another browser.", "Begin it again in this browser."],
  failed: ["The provider's answer cannot be used.", "Try again. If it fails again, the log of the console says why."],
  unavailable: ["The provider or the hub does not answer.", "Try again later. The log of the console says which."],
  untrusted: ["The hub does not accept the provider's token.", "An admin makes the hub's API server trust the provider, with the client ID of the console as the audience."],
};

/** Signs in with the code of the address, if it has one, and asks who the user is. */
export async function begin(): Promise<Failure | undefined> {
  const said = new URLSearchParams(location.hash.slice(1));
  const [code, outcome] = [said.get("code"), said.get("sign-in")];
  // Neither must stay in the history.
  if (code !== null || outcome !== null) history.replaceState(history.state, "", location.pathname + location.search);
  const wrong = code === null ? failureFor(outcome) : await signIn({ code });
  if (code !== null && !wrong) return undefined;
  try {
    welcome(await call<SessionAnswer>("GET", SESSION));
    tabs.postMessage("signed in");
    return undefined;
  } catch (error) {
    session.value ??= null;
    const failure = failureOf(error);
    return wrong ?? (failure.code === 401 ? undefined : failure);
  }
}

function failureFor(outcome: string | null): Failure | undefined {
  const words = FAILURES[outcome ?? ""];
  return words && { code: 401, reason: "SignInFailed", message: words[0], remedy: words[1] };
}

export async function signIn(request: SignInRequest): Promise<Failure | undefined> {
  try {
    await call("POST", SESSION, request);
    welcome(await call<SessionAnswer>("GET", SESSION));
    tabs.postMessage("signed in");
    return undefined;
  } catch (error) {
    return failureOf(error);
  }
}

/** The page goes on for the same user. Another user must not see what the page shows: it is loaded anew. */
function welcome(now: SessionAnswer): void {
  const before = session.value;
  if (before && (before.user === undefined || before.user !== now.user || before.server !== now.server)) {
    session.value = undefined;
    location.reload();
    return;
  }
  session.value = now;
  ended.value = false;
}

export async function signOut(): Promise<void> {
  try {
    await call("DELETE", SESSION);
  } catch (error) {
    if (failureOf(error).code !== 401) {
      tell("You are still signed in: the console does not answer.");
      return;
    }
  }
  // Nothing of this user stays in the tab.
  session.value = undefined;
  location.reload();
}

/** Asks which ways to sign in there are, and then looks whether the user has signed in in another tab. Returns what ends it. */
export function seek(found: (ways: SignInAnswer) => void, tires: () => void): () => void {
  let known = false;
  let left = MOST_LOOKS;
  const look = async () => {
    try {
      if (!known) found(await call<SignInAnswer>("GET", "/api/sign-in"));
      known = true;
      welcome(await call<SessionAnswer>("GET", SESSION));
    } catch {
      // Not yet: it is looked again.
    }
  };
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return void look();
    clearInterval(timer);
    tires();
  }, PAUSE);
  const told = () => void look();
  tabs.addEventListener("message", told);
  void look();
  return () => {
    clearInterval(timer);
    tabs.removeEventListener("message", told);
  };
}
