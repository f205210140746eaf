// Actions on the clusters that are chosen in the table.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { SetsAnswer } from "./answers";
import { ask } from "./ask";
import { call } from "./api";

/** At most so many are changed at once. */
export const MOST_CHOSEN = 200;

const ACTS: [string, string, string][] = [
  ["accept", "Accept", "primary"],
  ["deny", "Deny", "danger"],
  ["cordon", "Cordon", ""],
  ["uncordon", "End the cordon", ""],
];

export function Bulk({ names, ends }: { names: string[]; ends: () => void }) {
  const sets = useSignal<string[]>([]);
  useEffect(() => {
    call<SetsAnswer>("GET", "/api/sets").then(
      (it) => (sets.value = it.sets.filter((set) => set.byName).map((set) => set.name)),
      // Without the right to see sets there is nothing to choose from.
      () => {},
    );
  }, []);
  const of = names.length === 1 ? names[0] : `${names.length} clusters`;
  const askEach = (act: string, word: string, look: string, title: string, body: Record<string, unknown> = {}) => {
    const asked = names.map((name) => ({ name, path: `/api/clusters/${encodeURIComponent(name)}/${act}`, body }));
    ask({ word, look, title, asked, done: ends });
  };
  return (
    <div class="bulk" role="region" aria-label="Chosen clusters">
      <strong>{names.length === 1 ? "1 cluster is chosen" : `${names.length} clusters are chosen`}</strong>
      {ACTS.map(([act, word, look]) => (
        <button type="button" key={act} onClick={() => askEach(act, word, look, `${word}: ${of}`)}>
          {word}…
        </button>
      ))}
      {sets.value.length > 0 && (
        <select
          aria-label="Move into a set"
          value=""
          onChange={(event) => {
            const set = event.currentTarget.value;
            event.currentTarget.value = "";
            if (set !== "") askEach("set", "Move", "primary", `Move ${of} into ${set}`, { set });
          }}
        >
          <option value="">Move into a set…</option>
          {sets.value.map((set) => (
            <option key={set} value={set}>
              {set}
            </option>
          ))}
        </select>
      )}
      <button type="button" onClick={ends}>
        Choose none
      </button>
    </div>
  );
}
