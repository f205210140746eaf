// The sets: which clusters each has, and which namespaces may place on them.
import { useSignal } from "@preact/signals";
import { Shown, useAnswer, useCommand } from "../answered";
import type { SetRow, SetsAnswer, State } from "../answers";
import { ask } from "../ask";
import { Empty, Notes, STATES } from "../parts";
import { clustersPath, quoted } from "../router";

export function Sets() {
  const answered = useAnswer<SetsAnswer>({ screen: "sets" });
  useCommand("berth get clustersets");
  return (
    <section>
      <header class="bar">
        <h1>Sets</h1>
      </header>
      <Shown of={answered}>{(it) => <All it={it} />}</Shown>
    </section>
  );
}

function All({ it }: { it: SetsAnswer }) {
  return (
    <>
      <Notes notes={it.notes} />
      {it.sets.length === 0 && (
        <Empty title="There is no set that you may see.">
          <p>The command for one: berth create clusterset NAME</p>
        </Empty>
      )}
      {it.inNoSet > 0 && (
        <p>
          <a href={clustersPath('set:""')}>{it.inNoSet === 1 ? "1 cluster is" : `${it.inNoSet.toLocaleString()} clusters are`} in no set</a>: choose them there, and
          move them into one.
        </p>
      )}
      <div class="cards">
        {it.sets.map((set) => (
          <OneSet key={set.name} set={set} readOnly={it.readOnly} />
        ))}
      </div>
      {it.more > 0 && <p class="hint">{it.more} more are not shown: berth get clustersets</p>}
    </>
  );
}

function OneSet({ set, readOnly }: { set: SetRow; readOnly: boolean }) {
  const states = (Object.keys(STATES) as State[]).filter((state) => set.counts[state] > 0);
  const query = `set:${quoted(set.name)}`;
  return (
    <section class="card" aria-label={`Set ${set.name}`}>
      <h2>
        {set.name} {set.deleting && <span class="tag">being deleted</span>}
      </h2>
      <p class="by">It {set.selects}.</p>
      {set.byName ? (
        <p class="legend">
          {set.clusters === 0 && <span class="none">It has no cluster.</span>}
          {states.map((state) => (
            <a key={state} href={clustersPath(`${query} ${state}`)} class={state}>
              {set.counts[state].toLocaleString()} {STATES[state][0].toLowerCase()}
            </a>
          ))}
        </p>
      ) : (
        set.reported && <p>{set.reported}.</p>
      )}
      <h3>Bound to</h3>
      {set.bound.length === 0 && <p class="none">No namespace: no placement can select its clusters.</p>}
      <ul class="bound">
        {set.bound.map((bound) => (
          <li key={bound.namespace}>
            <span>{bound.namespace}</span>
            {bound.why && <span class="error">without effect: {bound.why}</span>}
            {!readOnly && <Unbind set={set.name} namespace={bound.namespace} />}
          </li>
        ))}
      </ul>
      {set.moreBound > 0 && <p class="hint">and to {set.moreBound} more</p>}
      {!readOnly && <BindForm set={set.name} />}
    </section>
  );
}

const bindingPath = (set: string, namespace: string, word: string) =>
  `/api/sets/${encodeURIComponent(set)}/bindings/${encodeURIComponent(namespace)}/${word}`;

function Unbind({ set, namespace }: { set: string; namespace: string }) {
  const title = `Unbind ${set} from ${namespace}`;
  const asked = [{ name: namespace, path: bindingPath(set, namespace, "unbind") }];
  return (
    <button type="button" class="small" aria-label={title} onClick={() => ask({ title, word: "Unbind", look: "danger", asked })}>
      Unbind…
    </button>
  );
}

/** The hub and its gate decide before anything is written. */
function BindForm({ set }: { set: string }) {
  const namespace = useSignal("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const to = namespace.value.trim();
    if (to === "") return;
    const asked = [{ name: to, path: bindingPath(set, to, "bind") }];
    ask({ title: `Bind ${set} to ${to}`, word: "Bind", look: "primary", asked, done: () => (namespace.value = "") });
  };
  return (
    <form class="inline" onSubmit={submit}>
      <input
        aria-label={`Namespace to bind ${set} to`}
        placeholder="Namespace"
        value={namespace.value}
        onInput={(event) => (namespace.value = event.currentTarget.value)}
        autocomplete="off"
        spellcheck={false}
      />
      <button type="submit">Bind…</button>
    </form>
  );
}
