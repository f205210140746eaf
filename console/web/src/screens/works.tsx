// What is on the clusters as prescribed, what is not, and how far rollouts are; the worst first.
import { Shown, useAnswer, useCommand } from "../answered";
import type { DifferenceGroup, RolloutRow, WorkRow, WorksAnswer } from "../answers";
import { ByName } from "../by-name";
import { Empty, Filter, Notes } from "../parts";
import { change, params, replicaSetPath, workPath } from "../router";
import { Ago } from "../time";
import { Bar, RolloutBadge, WORK_STATES, WorkBadge } from "../workstates";

export function Works() {
  const q = params.value.get("q") ?? "";
  const state = params.value.get("state") ?? "";
  const answered = useAnswer<WorksAnswer>({ screen: "works", q, state });
  useCommand("berth get works -o wide");
  return (
    <section class="works">
      <header class="bar">
        <h1>Works</h1>
        <Filter label="Search works" hint="A part of a name, a cluster or a replica set; CLUSTER/ for one cluster." />
      </header>
      <Shown of={answered}>{(it) => <All it={it} state={state} />}</Shown>
      <ByName hub={answered.hub.value} what="replica set" form="NAMESPACE/NAME" to={replicaSetPath} />
    </section>
  );
}

function All({ it, state }: { it: WorksAnswer; state: string }) {
  const isEmpty = it.total === 0 && it.sets.length === 0;
  if (isEmpty && it.notes.length === 0 && !params.value.get("q")) {
    return (
      <Empty title="There is no work that you may see.">
        <p>A work brings objects to clusters. The command for one: berth create work NAME -f FOLDER --clusters CLUSTER</p>
      </Empty>
    );
  }
  if (it.sets.length === 0 && it.states.length === 0 && it.notes.length === 0) return <Empty title="No work matches." />;
  return (
    <>
      <Notes notes={it.notes} />
      <Rollouts it={it} />
      <List it={it} state={state} />
      <Differences it={it} />
    </>
  );
}

function Rollouts({ it }: { it: WorksAnswer }) {
  if (it.sets.length === 0) return null;
  return (
    <section aria-labelledby="rollouts">
      <h2 id="rollouts">Rollouts</h2>
      <ul class="plain card rollouts">
        {it.sets.map((set) => (
          <Rollout key={`${set.namespace}/${set.name}`} set={set} />
        ))}
      </ul>
      {it.moreSets > 0 && <p class="hint">{it.moreSets.toLocaleString()} more are not shown: search for a part of the name.</p>}
    </section>
  );
}

function Rollout({ set }: { set: RolloutRow }) {
  return (
    <li>
      <div>
        <a href={replicaSetPath(set.namespace, set.name)}>
          <span class="quiet">{set.namespace}/</span>
          {set.name}
        </a>{" "}
        <RolloutBadge state={set.state} />{" "}
        <span class="by">
          <Ago at={set.since} />
        </span>
        {set.why && <p class="by">{set.why}</p>}
      </div>
      <div>
        {set.placements.map((stage) => (
          <div key={stage.placement}>
            <p class="by">
              Placement {stage.placement}: {stage.strategy.join(", ")}
            </p>
            <Bar stage={stage} />
          </div>
        ))}
      </div>
    </li>
  );
}

function List({ it, state }: { it: WorksAnswer; state: string }) {
  const none = it.states.length === 0;
  // A note says that they cannot be listed.
  if (none && it.total === 0 && it.notes.length > 0) return null;
  return (
    <section aria-labelledby="works">
      <h2 id="works">ManifestWorks</h2>
      <div class="states" role="group" aria-label="States">
        {it.states.map((row) => {
          const [word, look, meaning] = WORK_STATES[row.state];
          const chosen = row.state === state;
          return (
            <button key={row.state} type="button" class={`state ${look}`} title={meaning} aria-pressed={chosen} onClick={() => change({ state: chosen ? "" : row.state })}>
              <span class="count">{row.count.toLocaleString()}</span> {word}
            </button>
          );
        })}
      </div>
      {it.works.length === 0 && <p class="none">{none ? "No work matches." : "No work is in this state."}</p>}
      {it.works.length > 0 && (
        <div class="scroll card" tabIndex={0} role="region" aria-label="Table of works">
          <table>
            <thead>
              <tr>
                <th scope="col">Work</th>
                <th scope="col">State</th>
                <th scope="col" class="wide">
                  Replica set
                </th>
                <th scope="col" class="number wide">
                  Objects
                </th>
                <th scope="col" class="number">
                  Since
                </th>
              </tr>
            </thead>
            <tbody>
              {it.works.map((row) => (
                <Row key={`${row.cluster}/${row.name}`} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {it.matched > it.works.length && <p class="hint">{(it.matched - it.works.length).toLocaleString()} more are not shown: search for a part of the name.</p>}
    </section>
  );
}

function Row({ row }: { row: WorkRow }) {
  return (
    <tr>
      <th scope="row">
        <a href={workPath(row.cluster, row.name)}>
          <span class="quiet">{row.cluster}/</span>
          {row.name}
        </a>
      </th>
      <td>
        <WorkBadge state={row.state} />
        {row.why && <p class="reason">{row.why}</p>}
      </td>
      <td class="wide">
        {row.set && (
          <a href={replicaSetPath(row.set.namespace, row.set.name)}>
            {row.set.namespace}/{row.set.name}
          </a>
        )}
      </td>
      <td class="number wide">{row.manifests.toLocaleString()}</td>
      <td class="number">
        <Ago at={row.since} />
      </td>
    </tr>
  );
}

function Differences({ it }: { it: WorksAnswer }) {
  if (it.states.length === 0) return null;
  return (
    <section aria-labelledby="differences">
      <h2 id="differences">Differences of the fleet</h2>
      {it.differences.length === 0 && <p class="none">The agents report none: all objects are as their manifests say.</p>}
      {it.differences.map((group) => (
        <Group key={group.what + group.state} group={group} />
      ))}
      {it.moreDifferences > 0 && <p class="hint">{it.moreDifferences.toLocaleString()} more are not shown: berth work diff</p>}
    </section>
  );
}

function Group({ group }: { group: DifferenceGroup }) {
  const rest = group.count - group.places.length;
  return (
    <details class="card fold">
      <summary>
        <strong>{group.what}</strong> <WorkBadge state={group.state} />{" "}
        <span class="by">
          {plural(group.count, "object")} on {plural(group.clusters, "cluster")}
          {group.managers.length > 0 && `, written by ${group.managers.join(", ")}`}
        </span>
      </summary>
      <ul class="plain">
        {group.places.map((place, index) => (
          <li key={index}>
            <a href={workPath(place.cluster, place.work)}>
              {place.cluster}/{place.work}
            </a>{" "}
            {place.object} <span class="by">{place.found}</span>
          </li>
        ))}
      </ul>
      {rest > 0 && <p class="hint">and {rest.toLocaleString()} more</p>}
    </details>
  );
}

const plural = (count: number, word: string) => `${count.toLocaleString()} ${word}${count === 1 ? "" : "s"}`;
