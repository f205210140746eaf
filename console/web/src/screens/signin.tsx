// The sign-in: the terminal prints an address with a code that counts once.
import { useSignal } from "@preact/signals";
import type { Failure } from "../answers";
import { signIn } from "../api";
import { Wrong } from "../parts";

export function SignIn({ failure }: { failure: Failure | undefined }) {
  const wrong = useSignal(failure);
  const busy = useSignal(false);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem("code") as HTMLInputElement;
    const code = field.value.trim();
    busy.value = true;
    wrong.value = await signIn(code.includes("#code=") ? code.slice(code.indexOf("#code=") + 6) : code);
    busy.value = false;
  };
  return (
    <main class="signin">
      <h1>Berth</h1>
      <p>Press Enter in the terminal of berth console, and open the address that it prints. Or paste the address, or its code, here:</p>
      <form onSubmit={(event) => void send(event)}>
        <label for="code">One-time code</label>
        <input id="code" name="code" type="text" autocomplete="off" spellcheck={false} required autofocus />
        <button type="submit" class="primary" disabled={busy.value}>
          Sign in
        </button>
      </form>
      {wrong.value && <Wrong failure={wrong.value} />}
    </main>
  );
}
