// Screens with one answer, which comes by the stream whenever it changes.
import { type ReadonlySignal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { ErrorAnswer, Failure, HubAnswer } from "./answers";
import { onKeys } from "./keys";
import { Freshness, Loading, Wrong, copy } from "./parts";
import { open } from "./stream";

export interface Answered<T> {
  answer: ReadonlySignal<T | undefined>;
  hub: ReadonlySignal<HubAnswer | undefined>;
  failure: ReadonlySignal<Failure | undefined>;
}

/** Follows the answer of a screen. */
export function useAnswer<T>(query: Record<string, string>): Answered<T> {
  const answer = useSignal<T | undefined>(undefined);
  const hub = useSignal<HubAnswer | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  useEffect(() => {
    answer.value = undefined;
    failure.value = undefined;
    return open(query, {
      hub: (it: HubAnswer) => (hub.value = it),
      answer: (it: T) => {
        answer.value = it;
        failure.value = undefined;
      },
      failure: (it: ErrorAnswer) => (failure.value = it.error),
    });
  }, [JSON.stringify(query)]);
  return { answer, hub, failure };
}

/** The answer, and what is said while there is none, or while it is not fresh. */
export function Shown<T>({ of, children }: { of: Answered<T>; children: (answer: T) => ComponentChildren }) {
  const [answer, hub, failure] = [of.answer.value, of.hub.value, of.failure.value];
  return (
    <>
      <Freshness hub={hub} />
      {failure && <Wrong failure={failure} />}
      {answer === undefined && !failure && hub?.state !== "refused" && hub?.state !== "away" && <Loading />}
      {answer !== undefined && children(answer)}
    </>
  );
}

/** The key c copies the command that shows the same. */
export function useCommand(command: string): void {
  useEffect(() => onKeys({ c: () => void copy(command) }), [command]);
}
