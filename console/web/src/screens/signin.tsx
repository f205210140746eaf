// The sign-in: a page of its own at first, and a dialog over the page when its session has ended.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Failure, SignInAnswer, SignInRequest } from "../answers";
import { ended, session } from "../api";
import { Command, Wrong } from "../parts";
import { seek, signIn } from "../session";

export function SignIn({ failure }: { failure: Failure | undefined }) {
  return (
    <main class="signin">
      <h1>Berth</h1>
      <Ways failure={failure} />
    </main>
  );
}

export function SignInAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    // The user goes on typing where it was.
    return () => before?.focus();
  }, []);
  const user = session.value?.user;
  return (
    <dialog
      ref={dialog}
      class="signin"
      aria-labelledby="again"
      onCancel={(event) => event.preventDefault()}
      onClose={() => ended.value && dialog.current?.showModal()}
    >
      <h2 id="again">Your session has ended</h2>
      <p>{user === undefined ? "Sign in again." : `Sign in again as ${user}: what you see and what you have typed stays.`} For another user the page is loaded anew.</p>
      <Ways over />
      <div class="actions end">
        <button type="button" onClick={() => location.reload()}>
          Leave this page
        </button>
      </div>
    </dialog>
  );
}

/** The ways to sign in. `over`: over a page that must stay. */
function Ways({ failure, over = false }: { failure?: Failure | undefined; over?: boolean }) {
  const known = useSignal<SignInAnswer | undefined>(undefined);
  const wrong = useSignal<Failure | undefined>(undefined);
  const busy = useSignal(false);
  const rounds = useSignal(0);
  const isTired = useSignal(false);
  useEffect(() => {
    isTired.value = false;
    return seek(
      (ways) => (known.value = ways),
      () => (isTired.value = true),
    );
  }, [rounds.value]);
  const send = async (request: SignInRequest) => {
    busy.value = true;
    wrong.value = await signIn(request);
    busy.value = false;
  };
  const target = over ? { target: "_blank", rel: "noopener" } : {};
  const here = location.pathname + location.search;
  const elsewhere = over && <p class="hint">It opens in a new tab. This page goes on by itself.</p>;
  const ways: Record<SignInAnswer["ways"][number], () => ComponentChildren> = {
    code: () => (
      <>
        <p>Press Enter in the terminal of berth console, and open the address that it prints. Or paste the address, or its code, here:</p>
        <Secret name="code" label="One-time code" busy={busy.value} send={(code) => send({ code: code.includes("#code=") ? code.slice(code.indexOf("#code=") + 6) : code })} />
      </>
    ),
    token: () => (
      <>
        <Secret name="token" label="A token of the hub" isHidden busy={busy.value} send={(token) => send({ token })} />
        <p class="hint">For example of a ServiceAccount, by:</p>
        <Command text="kubectl create token NAME -n NAMESPACE" />
        <p class="hint">The console keeps it in the memory of its server, until you sign out. Nothing is stored in the browser.</p>
      </>
    ),
    oidc: () => (
      <>
        <p>
          <a class="button" href={`/oidc/start?${new URLSearchParams({ to: here })}`} {...target}>
            Sign in at {known.value?.issuer ?? "the OpenID provider"}
          </a>
        </p>
        {elsewhere}
      </>
    ),
    proxy: () => (
      <>
        <p>The proxy before this console signs you in.</p>
        <p>
          <a class="button" href={here} {...target}>
            Load the page from the proxy
          </a>
        </p>
        {elsewhere}
      </>
    ),
  };
  const shown = wrong.value ?? failure;
  return (
    <>
      {shown && <Wrong failure={shown} />}
      {known.value === undefined && <p class="loading">Asking the console how to sign in…</p>}
      {known.value?.ways.map((way) => (
        <section key={way} class="way">
          {ways[way]()}
        </section>
      ))}
      {isTired.value && (
        <button type="button" onClick={() => (rounds.value += 1)}>
          I have signed in in another tab
        </button>
      )}
    </>
  );
}

interface Asked {
  name: string;
  label: string;
  isHidden?: boolean;
  busy: boolean;
  send: (text: string) => Promise<void>;
}

function Secret({ name, label, isHidden = false, busy, send }: Asked) {
  const id = `sign-in-${name}`;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void send(field.current?.value.trim() ?? "");
  };
  return (
    <form onSubmit={submit}>
      <label for={id}>{label}</label>
      {isHidden ? <input ref={field} id={id} type="password" autocomplete="off" required /> : <input ref={field} id={id} type="text" autocomplete="off" spellcheck={false} required />}
      <button type="submit" class="primary" disabled={busy}>
        Sign in
      </button>
    </form>
  );
}
