// One replica set: how far the rollout of each placement is, and its clusters by stage.
import { Actions } from "../actions";
import { Shown, useAnswer, useCommand } from "../answered";
import type { PlacementStage, ReplicaSetAnswer, StageCluster, StageFold } from "../answers";
import { Notes } from "../parts";
import { clusterPath, placementPath, workPath, worksPath } from "../router";
import { Ago, Until } from "../time";
import { Bar, RolloutBadge, STAGES } from "../workstates";
import { Yaml } from "../yaml";
import { Conditions } from "./cluster";

export function ReplicaSet({ namespace, name }: { namespace: string; name: string }) {
  const answered = useAnswer<ReplicaSetAnswer>({ screen: "replicaset", namespace, name });
  useCommand(`berth get replicasets ${name} -n ${namespace} -o tree`);
  const at = `/api/replicasets/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  const it = answered.answer.value;
  return (
    <section class="works">
      <header class="bar">
        <div>
          <p class="crumb">
            <a href="/works">Works</a>
          </p>
          <h1>
            <span class="quiet">{namespace}/</span>
            {name} {it && <RolloutBadge state={it.state} />} {it?.needsApproval && <span class="tag">steps need approval</span>}
          </h1>
          {it && (
            <p class="facts">
              {it.since && (
                <span>
                  since <Ago at={it.since} />
                </span>
              )}
              {it.created && (
                <span>
                  created <Ago at={it.created} words />
                </span>
              )}
              <a href={worksPath(`${namespace}/${name}`)}>Its works</a>
            </p>
          )}
        </div>
        {it && <Actions of={{ name, at }} offers={it.actions} />}
      </header>
      <Shown of={answered}>
        {(it) => (
          <>
            {it.why && <p class="summary">{it.why}</p>}
            {it.waits && it.waits !== it.why && (
              <div class="next">
                <p>A step waits for an approval: {it.waits}</p>
              </div>
            )}
            <Notes notes={it.notes} />
            <section aria-labelledby="stages">
              <h2 id="stages">Placements</h2>
              {it.placements.length === 0 && <p class="none">It names no placement that can be read.</p>}
              {it.placements.map((placement) => (
                <Placed key={placement.stage.placement} namespace={namespace} it={placement} />
              ))}
            </section>
            <Conditions conditions={it.conditions} />
            <Yaml path={`${at}/yaml`} of="the ManifestWorkReplicaSet" />
          </>
        )}
      </Shown>
    </section>
  );
}

function Placed({ namespace, it }: { namespace: string; it: PlacementStage }) {
  const { stage, folds } = it;
  return (
    <article class="card object" aria-label={stage.placement}>
      <h3>
        <a href={placementPath(namespace, stage.placement)}>{stage.placement}</a> {stage.stopped && <RolloutBadge state="stopped" />}
      </h3>
      <p class="by">{stage.strategy.join(", ")}</p>
      <Bar stage={stage} />
      {folds.map((fold) => (
        <Fold key={fold.stage} fold={fold} />
      ))}
    </article>
  );
}

function Fold({ fold }: { fold: StageFold }) {
  const [word, look, meaning] = STAGES[fold.stage];
  const rest = fold.count - fold.clusters.length;
  return (
    <details class="fold" open={look === "bad" ? true : undefined}>
      <summary>
        <span class={`badge ${look}`}>{word}</span> {fold.count.toLocaleString()} <span class="by">{meaning}</span>
      </summary>
      <ul class="plain">
        {fold.clusters.map((cluster) => (
          <One key={cluster.cluster} it={cluster} />
        ))}
      </ul>
      {rest > 0 && <p class="hint">{fold.clusters.length === 0 ? "Their names are not known." : `and ${rest.toLocaleString()} more`}</p>}
    </details>
  );
}

function One({ it }: { it: StageCluster }) {
  return (
    <li>
      <a href={it.work === undefined ? clusterPath(it.cluster) : workPath(it.cluster, it.work)}>{it.cluster}</a>{" "}
      <span class="by">
        {it.work === undefined && "has no work yet "}
        {it.since && (
          <>
            for <Ago at={it.since} />{" "}
          </>
        )}
        {it.until && (
          <>
            (ends <Until at={it.until} />){" "}
          </>
        )}
        {it.why}
      </span>
    </li>
  );
}
