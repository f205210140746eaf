// A text that counts after a pause in typing.
import { batch, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** How long a pause is, in milliseconds. */
const PAUSE = 150;

/**
 * The value and the handlers of an input whose text counts after a pause in typing, and when the input is left. `text` is what counts now.
 * Until then what is typed stays, whatever else is shown anew. Once its screen is left, it does not count any more: the address is that of
 * another screen.
 */
export function useTyped(text: string, onText: (text: string) => void) {
  const typed = useSignal<string | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const stop = () => clearTimeout(timer.current);
  const leave = () => {
    stop();
    typed.value = undefined;
  };
  useEffect(() => leave, []);
  const count = () => {
    const value = typed.peek();
    batch(() => {
      leave();
      if (value !== undefined) onText(value);
    });
  };
  return {
    value: typed.value ?? text,
    onInput: (event: Event) => {
      stop();
      typed.value = (event.currentTarget as HTMLInputElement).value;
      timer.current = setTimeout(count, PAUSE);
    },
    onBlur: count,
  };
}
