// What the keys and the words mean.
import { useEffect, useRef } from "preact/hooks";
import { STATES } from "./parts";
import { SCREENS } from "./screens";

const KEYS: [string, string][] = [
  ["/", "search"],
  ["j, k", "next and previous cluster"],
  ["Enter", "open the cluster"],
  ["x", "choose the cluster for an action"],
  ...SCREENS.flatMap(({ key, title }): [string, string][] => (key ? [[`g ${key}`, `go to ${title}`]] : [])),
  ["c", "copy the command that shows the same"],
  ["?", "this page"],
];

export function Help({ ends }: { ends: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={ends} aria-labelledby="help">
      <h2 id="help">Keys</h2>
      <dl class="pairs">
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <h2>States of a cluster</h2>
      <dl class="pairs">
        {Object.entries(STATES).map(([state, [word, meaning]]) => (
          <div key={state}>
            <dt>{word}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div class="actions end">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
