// A list that the hub refuses to the user: one of its objects, which the user may read, is opened by its name.
import { useSignal } from "@preact/signals";
import type { HubAnswer } from "./answers";
import { go } from "./router";

interface Props {
  hub: HubAnswer | undefined;
  /** What is opened, such as "placement". */
  what: string;
  /** Its name, such as NAMESPACE/NAME. */
  form: string;
  /** The address of its page. */
  to: (...names: [string, string]) => string;
}

export function ByName({ hub, what, form, to }: Props) {
  const text = useSignal("");
  if (hub?.state !== "refused") return null;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const names = text.value.trim().split("/");
    const isWhole = names.length === form.split("/").length && !names.includes("");
    if (isWhole) go(to(names[0] ?? "", names[1] ?? ""));
  };
  return (
    <form class="inline" onSubmit={submit}>
      <input
        aria-label={`The ${what} to open: ${form}`}
        placeholder={`${form} of a ${what}`}
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
        autocomplete="off"
        spellcheck={false}
      />
      <button type="submit">Open</button>
    </form>
  );
}
