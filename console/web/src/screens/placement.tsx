// One placement: what each step of the selection leaves, what becomes of each cluster, and what a changed one would select.
import { useSignal } from "@preact/signals";
import { Shown, useAnswer, useCommand } from "../answered";
import type { PlacedCluster, PlacementAnswer, Selection } from "../answers";
import { Crumb, Filter, Notes } from "../parts";
import { change, clusterPath, params } from "../router";
import { Ago } from "../time";
import { WhatIf } from "./what-if";

export function Placement({ namespace, name }: { namespace: string; name: string }) {
  const [q, result] = [params.value.get("q") ?? "", params.value.get("result") ?? ""];
  const answered = useAnswer<PlacementAnswer>({ screen: "placement", namespace, name, q, result });
  const editing = useSignal(false);
  useCommand(`berth placement explain ${name} -n ${namespace}`);
  const it = answered.answer.value;
  return (
    <section class="placement">
      <header class="bar">
        <div>
          <Crumb to="/placements" title="Placements" />
          <h1>
            <span class="quiet">{namespace}/</span>
            {name}
          </h1>
          {it && (
            <p class="facts">
              <span>{it.selection.sets.length === 0 ? "It can select from no set." : `It selects from ${it.selection.sets.join(", ")}.`}</span>
              <span>
                Decided <Ago at={it.at} words />
              </span>
            </p>
          )}
        </div>
        {it && (
          <button type="button" aria-expanded={editing.value} onClick={() => (editing.value = !editing.value)}>
            What if…
          </button>
        )}
      </header>
      <Shown of={answered}>
        {(it) => (
          <>
            {editing.value && <WhatIf it={it} ends={() => (editing.value = false)} />}
            <Chosen selection={it.selection} />
            {it.differs.length > 0 && (
              <div class="mind">
                <Notes notes={it.differs} />
              </div>
            )}
            <Each it={it} result={result} />
          </>
        )}
      </Shown>
    </section>
  );
}

/** How many clusters each step leaves, and what else is to be said. */
export function Chosen({ selection }: { selection: Selection }) {
  const most = Math.max(1, ...selection.steps.map((step) => step.clusters));
  return (
    <>
      {selection.faults.length > 0 && (
        <div class="wrong">
          <Notes notes={selection.faults} />
        </div>
      )}
      <ol class="funnel" aria-label="Steps of the selection">
        {selection.steps.map((step) => (
          <li key={step.title}>
            <span class="number">{step.clusters.toLocaleString()}</span>
            <span class="track" aria-hidden="true">
              <span style={{ width: `${(100 * step.clusters) / most}%` }} />
            </span>
            <span>
              <strong>{step.title}</strong>
              {step.without && <span class="by"> {step.without}</span>}
            </span>
          </li>
        ))}
      </ol>
      {selection.groups.length > 0 && <p>In groups: {selection.groups.map((it) => `${it.index} ${it.name || "without a name"} (${it.clusters})`).join(", ")}</p>}
      {selection.hint && <p class="next">{selection.hint}</p>}
      {selection.next && (
        <p class="hint">
          Time alone can change this at <time dateTime={selection.next}>{new Date(selection.next).toLocaleString()}</time>.
        </p>
      )}
      <Notes notes={[...selection.setNotes, ...selection.warnings, ...selection.notes]} />
    </>
  );
}

/** The clusters, each with its reason. */
function Each({ it, result }: { it: PlacementAnswer; result: string }) {
  return (
    <section aria-labelledby="each">
      <header class="bar">
        <h2 id="each">Why each cluster is selected, or is not</h2>
        <Filter label="Search clusters of the placement" hint="A part of the name." />
      </header>
      <div class="states" role="group" aria-label="Results">
        {it.results.map((row) => (
          <button type="button" key={row.result} aria-pressed={row.result === result} class="state" onClick={() => change({ result: row.result === result ? "" : row.result })}>
            <span class="count">{row.clusters.toLocaleString()}</span> {row.words}
          </button>
        ))}
      </div>
      {it.matched === 0 && <p class="none">No cluster matches.</p>}
      {it.matched > 0 && (
        <div class="scroll card" tabIndex={0} role="region" aria-label="Table of clusters">
          <table>
            <thead>
              <tr>
                <th scope="col">Cluster</th>
                <th scope="col">Result</th>
                <th scope="col">Why</th>
                <th scope="col" class="number wide">
                  Rank
                </th>
                <th scope="col" class="number wide">
                  Score
                </th>
              </tr>
            </thead>
            <tbody>
              {it.clusters.map((row) => (
                <Placed key={row.name} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {it.matched > it.clusters.length && <p class="hint">{(it.matched - it.clusters.length).toLocaleString()} more are not shown: search for a part of the name.</p>}
    </section>
  );
}

function Placed({ row }: { row: PlacedCluster }) {
  const stale = row.selected !== (row.decision !== undefined);
  return (
    <tr>
      <th scope="row">
        <a href={clusterPath(row.name)}>{row.name}</a>
      </th>
      <td>
        <span class={`badge ${row.selected ? "good" : "quiet"}`}>{row.result}</span>
        {stale && <span class="tag">{row.selected ? "not listed yet" : "still listed"}</span>}
      </td>
      <td class="text">{row.reason}</td>
      <td class="number wide">{row.rank}</td>
      <td class="number wide">{row.score}</td>
    </tr>
  );
}
