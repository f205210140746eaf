// All placements, those that need a look first.
import { Shown, useAnswer, useCommand } from "../answered";
import type { PlacementRow, PlacementState, PlacementsAnswer } from "../answers";
import { ByName } from "../by-name";
import { Empty, Filter } from "../parts";
import { params, placementPath } from "../router";
import { Ago } from "../time";

const STATES: Record<PlacementState, [string, string]> = {
  misconfigured: ["Cannot be evaluated", "bad"],
  unsatisfied: ["Too few clusters", "warn"],
  new: ["Not looked at yet", "quiet"],
  satisfied: ["Satisfied", "good"],
};

export function Placements() {
  const q = params.value.get("q") ?? "";
  const answered = useAnswer<PlacementsAnswer>({ screen: "placements", q });
  useCommand("berth get placements");
  return (
    <section>
      <header class="bar">
        <h1>Placements</h1>
        <Filter label="Search placements" hint="A part of the namespace or of the name." />
      </header>
      <Shown of={answered}>{(it) => <All it={it} />}</Shown>
      <ByName hub={answered.hub.value} what="placement" form="NAMESPACE/NAME" to={placementPath} />
    </section>
  );
}

function All({ it }: { it: PlacementsAnswer }) {
  if (it.total === 0) {
    return (
      <Empty title="There is no placement that you may see.">
        <p>The command for one: berth create placement NAME -n NAMESPACE</p>
      </Empty>
    );
  }
  if (it.matched === 0) return <Empty title="No placement matches." />;
  return (
    <>
      <div class="scroll card" tabIndex={0} role="region" aria-label="Table of placements">
        <table>
          <thead>
            <tr>
              <th scope="col">Placement</th>
              <th scope="col">State</th>
              <th scope="col" class="number">
                Selected
              </th>
              <th scope="col" class="wide">
                Sets
              </th>
              <th scope="col" class="number">
                Since
              </th>
            </tr>
          </thead>
          <tbody>
            {it.rows.map((row) => (
              <Row key={`${row.namespace}/${row.name}`} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      {it.matched > it.rows.length && <p class="hint">{(it.matched - it.rows.length).toLocaleString()} more are not shown: search for a part of the name.</p>}
    </>
  );
}

function Row({ row }: { row: PlacementRow }) {
  const [word, look] = STATES[row.state];
  return (
    <tr>
      <th scope="row">
        <a href={placementPath(row.namespace, row.name)}>
          <span class="quiet">{row.namespace}/</span>
          {row.name}
        </a>
      </th>
      <td>
        <span class={`badge ${look}`}>{word}</span> <span class="why">{row.why}</span>
      </td>
      <td class="number">
        {row.selected.toLocaleString()}
        {row.wanted !== undefined && ` of ${row.wanted.toLocaleString()}`}
      </td>
      <td class="wide">{row.sets.join(", ") || "all that are bound"}</td>
      <td class="number">
        <Ago at={row.since} />
      </td>
    </tr>
  );
}
