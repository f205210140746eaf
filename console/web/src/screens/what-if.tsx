// A placement that is changed, and what it would select, beside each other. Nothing is written before the second press.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ActionAnswer, ChangedCluster, Failure, PlacementAnswer, WhatIfAnswer } from "../answers";
import { call, failureOf } from "../api";
import { Lacking, Notes, Wrong, copy, tell } from "../parts";
import { clusterPath } from "../router";
import { Chosen } from "./placement";

/** A question is asked when nothing was typed for so long. */
const PAUSE = 400;

export function WhatIf({ it, ends }: { it: PlacementAnswer; ends: () => void }) {
  // What was typed stays, whatever the stream reports.
  const yaml = useSignal(it.yaml);
  const answer = useSignal<WhatIfAnswer | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const tried = useSignal<ActionAnswer | undefined>(undefined);
  const busy = useSignal(false);
  const path = `/api/placements/${encodeURIComponent(it.namespace)}/${encodeURIComponent(it.name)}`;

  useEffect(() => {
    let stale = false;
    tried.value = undefined;
    const timer = setTimeout(() => {
      call<WhatIfAnswer>("POST", `${path}/what-if`, { yaml: yaml.value }).then(
        (found) => {
          if (stale) return;
          answer.value = found;
          failure.value = undefined;
        },
        (error) => !stale && (failure.value = failureOf(error)),
      );
    }, PAUSE);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [yaml.value, path]);

  const replace = async (dryRun: boolean) => {
    busy.value = true;
    try {
      const done = await call<ActionAnswer>("POST", `${path}/replace`, { yaml: yaml.value, dryRun });
      failure.value = undefined;
      if (dryRun) {
        tried.value = done;
      } else {
        tell(done.done.join(" "));
        ends();
      }
    } catch (error) {
      failure.value = failureOf(error);
    }
    busy.value = false;
  };
  const found = answer.value;
  const faulty = found === undefined || found.mistakes.length > 0;
  return (
    <section class="card what-if" aria-labelledby="what-if">
      <h2 id="what-if">What if it were changed</h2>
      <div class="beside">
        <div>
          <label for="yaml">The placement, to be changed</label>
          <textarea id="yaml" spellcheck={false} rows={22} value={yaml.value} onInput={(event) => (yaml.value = event.currentTarget.value)} />
        </div>
        <div aria-live="polite">
          {failure.value && <Wrong failure={failure.value} />}
          {!found && !failure.value && <p class="loading">Deciding…</p>}
          {found && found.mistakes.length > 0 && (
            <div class="wrong">
              <Notes notes={found.mistakes} />
            </div>
          )}
          {found?.selection && (
            <>
              <p class="summary">
                {changes(found.added.length + found.moreAdded, found.removed.length + found.moreRemoved, found.stay)}
              </p>
              <Changes sign="+" look="good" rows={found.added} more={found.moreAdded} />
              <Changes sign="−" look="bad" rows={found.removed} more={found.moreRemoved} />
              <Chosen selection={found.selection} />
            </>
          )}
        </div>
      </div>
      {tried.value && (
        <div class="next">
          <p>The hub would do this. Nothing is changed yet.</p>
          <Notes notes={[...tried.value.done, ...tried.value.warnings]} />
        </div>
      )}
      {it.missing && (
        <details class="refused">
          <summary>Replace: not possible</summary>
          <Lacking missing={it.missing} />
        </details>
      )}
      <div class="actions end">
        <button type="button" onClick={() => void copy(yaml.value)}>
          Copy the YAML
        </button>
        <button type="button" onClick={() => void copy(`berth placement what-if -f placement.yaml -n ${it.namespace}`)}>
          Copy the command
        </button>
        <button type="button" onClick={ends}>
          Close
        </button>
        {it.mayReplace && !tried.value && (
          <button type="button" class="primary" disabled={busy.value || faulty} onClick={() => void replace(true)}>
            Replace…
          </button>
        )}
        {it.mayReplace && tried.value && (
          <button type="button" class="primary" disabled={busy.value} onClick={() => void replace(false)}>
            Replace now
          </button>
        )}
      </div>
    </section>
  );
}

/** Such as: 2 clusters come, none goes, 1 stays. */
function changes(come: number, go: number, stay: number): string {
  const some = (number: number, one: string, many: string) =>
    number === 0 ? `none ${one}` : `${number.toLocaleString()} ${number === 1 ? one : many}`;
  const first = come === 0 ? "No cluster comes" : come === 1 ? "1 cluster comes" : `${come.toLocaleString()} clusters come`;
  return `${first}, ${some(go, "goes", "go")}, ${some(stay, "stays", "stay")}.`;
}

function Changes({ sign, look, rows, more }: { sign: string; look: string; rows: ChangedCluster[]; more: number }) {
  if (rows.length === 0) return null;
  return (
    <ul class="changes">
      {rows.map((row) => (
        <li key={row.name}>
          <span class={look}>{sign}</span> <a href={clusterPath(row.name)}>{row.name}</a> <span class="by">{row.reason}</span>
        </li>
      ))}
      {more > 0 && <li class="by">and {more.toLocaleString()} more</li>}
    </ul>
  );
}
