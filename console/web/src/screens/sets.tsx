// The sets: which clusters each has, and which namespaces may place on them.
import { useSignal } from "@preact/signals";
import { Shown, useAnswer, useCommand } from "../answered";
import type { SetRow, SetsAnswer, State } from "../answers";
import { type Asked, Ask } from "../ask";
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
            {!readOnly && <Change set={set.name} namespace={bound.namespace} word="Unbind" />}
          </li>
        ))}
      </ul>
      {set.moreBound > 0 && <p class="hint">and to {set.moreBound} more</p>}
      {!readOnly && <BindForm set={set.name} />}
    </section>
  );
}

const bindingPath = (set: string, namespace: string, word: string) =>
  `/api/sets/${encodeURIComponent(set)}/bindings/${encodeURIComponent(namespace)}/${word.toLowerCase()}`;

function Change({ set, namespace, word }: { set: string; namespace: string; word: "Bind" | "Unbind" }) {
  const asking = useSignal(false);
  const asked: Asked[] = [{ name: namespace, path: bindingPath(set, namespace, word) }];
  return (
    <>
      <button type="button" class="small" aria-label={`${word} ${set} from ${namespace}`} onClick={() => (asking.value = true)}>
        {word}…
      </button>
      {asking.value && <Ask title={`${word} ${set} from ${namespace}`} word={word} look="danger" asked={asked} ends={() => (asking.value = false)} />}
    </>
  );
}

/** The hub and its gate decide before anything is written. */
function BindForm({ set }: { set: string }) {
  const namespace = useSignal("");
  const asking = useSignal(false);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (namespace.value.trim() !== "") asking.value = true;
  };
  const to = namespace.value.trim();
  return (
    <form class="inline" onSubmit={submit}>
      <input aria-label={`Namespace to bind ${set} to`} placeholder="Namespace" value={namespace.value} onInput={(event) => (namespace.value = event.currentTarget.value)} autocomplete="off" spellcheck={false} />
      <button type="submit">Bind…</button>
      {asking.value && (
        <Ask
          title={`Bind ${set} to ${to}`}
          word="Bind"
          look="primary"
          asked={[{ name: to, path: bindingPath(set, to, "Bind") }]}
          ends={(done) => {
            asking.value = false;
            if (done) namespace.value = "";
          }}
        />
      )}
    </form>
  );
}
