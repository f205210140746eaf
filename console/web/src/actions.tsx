// Actions. The first press asks the hub what would happen, by a dry run; the second one does it.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Act, ActionAnswer, Failure, Offer } from "./answers";
import { call, failureOf } from "./api";
import { Command, Lacking, Notes, Wrong, tell } from "./parts";

const WORDS: Record<Act, [string, string]> = {
  accept: ["Accept", "primary"],
  deny: ["Deny", "danger"],
  cordon: ["Cordon", ""],
  uncordon: ["End the cordon", ""],
  pause: ["Pause", ""],
  resume: ["Resume", "primary"],
  approve: ["Approve", "primary"],
};

/** An object, and the route of its actions. */
interface Of {
  name: string;
  at: string;
}

export function Actions({ of, offers }: { of: Of; offers: Offer[] }) {
  return (
    <div class="actions">
      {offers.map((offer) => (
        <Action key={offer.act} of={of} offer={offer} />
      ))}
    </div>
  );
}

function Action({ of, offer }: { of: Of; offer: Offer }) {
  const asking = useSignal(false);
  const [word, look] = WORDS[offer.act];
  if (!offer.allowed) {
    return (
      <details class="refused">
        <summary>{word}: not possible</summary>
        {offer.missing ? <Lacking missing={offer.missing} /> : <p>{offer.why}</p>}
      </details>
    );
  }
  return (
    <>
      <button type="button" class={look} onClick={() => (asking.value = true)} aria-label={`${word} ${of.name}`}>
        {word}…
      </button>
      {asking.value && <Question of={of} offer={offer} ends={() => (asking.value = false)} />}
    </>
  );
}

function Question({ of, offer, ends }: { of: Of; offer: Offer; ends: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const trial = useSignal<ActionAnswer | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const busy = useSignal(true);
  const [word, look] = WORDS[offer.act];
  const ask = async (dryRun: boolean) => {
    busy.value = true;
    failure.value = undefined;
    try {
      const answer = await call<ActionAnswer>("POST", `${of.at}/${offer.act}`, { dryRun, shown: dryRun ? undefined : trial.value?.shown });
      trial.value = answer;
      if (!dryRun) tell(answer.done.join(" "));
    } catch (error) {
      failure.value = failureOf(error);
    }
    busy.value = false;
  };
  useEffect(() => {
    dialog.current?.showModal();
    void ask(true);
  }, []);
  const done = trial.value !== undefined && !trial.value.dryRun;
  return (
    <dialog ref={dialog} onClose={ends} aria-labelledby="question">
      <h2 id="question">
        {word}: {of.name}
      </h2>
      <div aria-live="polite" aria-busy={busy.value}>
        {trial.value && (
          <>
            <p>{done ? "Done:" : "The hub would do this. Nothing is changed yet."}</p>
            <Notes notes={trial.value.done} />
            {trial.value.warnings.length > 0 && <p>Mind:</p>}
            <Notes notes={trial.value.warnings} />
          </>
        )}
        {!trial.value && !failure.value && <p>Asking the hub what would happen…</p>}
        {failure.value && <Wrong failure={failure.value} />}
      </div>
      <p>The same as a command:</p>
      <Command text={offer.command} />
      <div class="actions end">
        <button type="button" onClick={() => dialog.current?.close()}>
          {done ? "Close" : "Cancel"}
        </button>
        {!done && (
          <button type="button" class={look || "primary"} disabled={busy.value || !trial.value} onClick={() => void ask(false)}>
            {word} now
          </button>
        )}
      </div>
    </dialog>
  );
}
