// A question before something is done. The first press asks the hub what would happen to each object, by dry runs; the second one does it.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ActionAnswer, Failure } from "./answers";
import { call, failureOf } from "./api";
import { Command, Notes, Wrong, tell } from "./parts";

/** What is asked of one object. */
export interface Asked {
  /** The object, in words. */
  name: string;
  path: string;
  body?: Record<string, unknown>;
}

interface Question {
  title: string;
  /** The word of the button, such as Accept. */
  word: string;
  look: string;
  asked: Asked[];
  /** Called when the dialog is closed and something was done. */
  done?: () => void;
}

const question = signal<Question | undefined>(undefined);

/** Asks. The dialog stays, whatever becomes of the place that asks: an accepted cluster is no request any more. */
export function ask(asked: Question): void {
  question.value = asked;
}

/** The place of the dialog: in the frame. */
export function Questions() {
  return question.value ? <Dialog {...question.value} /> : null;
}

type Outcome = { answer: ActionAnswer } | { failure: Failure };

function Dialog({ title, word, look, asked, done: whenDone }: Question) {
  const dialog = useRef<HTMLDialogElement>(null);
  const outcomes = useSignal<(Outcome | undefined)[]>([]);
  const busy = useSignal(true);
  const done = useSignal(false);
  const closed = useRef(false);
  const put = async (dryRun: boolean) => {
    busy.value = true;
    const before = outcomes.value;
    for (const [index, one] of asked.entries()) {
      // What the hub has refused is not tried.
      if (closed.current || (!dryRun && before[index] && "failure" in before[index])) continue;
      let outcome: Outcome;
      try {
        // An approval names what its dry run has shown.
        const tried = before[index];
        const shown = !dryRun && tried && "answer" in tried ? tried.answer.shown : undefined;
        const body = { ...one.body, dryRun, ...(shown === undefined ? {} : { shown }) };
        outcome = { answer: await call<ActionAnswer>("POST", one.path, body) };
      } catch (error) {
        outcome = { failure: failureOf(error) };
      }
      outcomes.value = Object.assign([...outcomes.value], { [index]: outcome });
    }
    if (!dryRun) {
      done.value = true;
      const made = outcomes.value.flatMap((it) => (it && "answer" in it ? it.answer.done : []));
      tell(made.length === 1 ? (made[0] ?? "") : `${word}: ${made.length} done, ${asked.length - made.length} refused`);
    }
    busy.value = false;
  };
  useEffect(() => {
    dialog.current?.showModal();
    void put(true);
    return () => {
      closed.current = true;
    };
  }, []);
  const ends = () => {
    question.value = undefined;
    if (done.value) whenDone?.();
  };
  const found = outcomes.value.filter((it) => it !== undefined);
  const possible = found.filter((it) => "answer" in it).length;
  const commands = found.flatMap((it) => ("answer" in it ? [it.answer.command] : []));
  return (
    <dialog ref={dialog} onClose={ends} aria-labelledby="ask">
      <h2 id="ask">{title}</h2>
      <div aria-live="polite" aria-busy={busy.value}>
        {busy.value && <p>{`Asking the hub: ${found.length} of ${asked.length}…`}</p>}
        {!busy.value && possible > 0 && <p>{done.value ? "Done:" : "The hub would do this. Nothing is changed yet."}</p>}
        <ul class="outcomes">
          {outcomes.value.map((it, index) => it && <One key={asked[index]?.name} name={asked[index]?.name ?? ""} outcome={it} many={asked.length > 1} />)}
        </ul>
      </div>
      {commands.length > 0 && (
        <details open={commands.length === 1}>
          <summary>The same as {commands.length === 1 ? "a command" : "commands"}</summary>
          <Command text={commands.join("\n")} />
        </details>
      )}
      <div class="actions end">
        <button type="button" onClick={() => dialog.current?.close()}>
          {done.value ? "Close" : "Cancel"}
        </button>
        {!done.value && (
          <button type="button" class={look || "primary"} disabled={busy.value || possible === 0} onClick={() => void put(false)}>
            {word.endsWith(" now") ? word : `${word} now`}
          </button>
        )}
      </div>
    </dialog>
  );
}

function One({ name, outcome, many }: { name: string; outcome: Outcome; many: boolean }) {
  if ("failure" in outcome) {
    return (
      <li>
        {many && <strong>{name}</strong>}
        <Wrong failure={outcome.failure} />
      </li>
    );
  }
  return (
    <li>
      {many && <strong>{name}</strong>}
      <Notes notes={[...outcome.answer.done, ...outcome.answer.warnings]} />
    </li>
  );
}
