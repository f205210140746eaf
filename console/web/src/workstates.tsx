// States of works and rollouts in words, and the bar of a rollout.
import type { ReportedWorks, RolloutCondition, Stage, StageAnswer, WorkCondition } from "./answers";
import { Until } from "./time";

/** Word, look, meaning. */
export const WORK_STATES: Record<WorkCondition, [string, string, string]> = {
  notApplied: ["Not applied", "bad", "a manifest could not be applied"],
  missing: ["Missing", "bad", "an object does not exist on the cluster"],
  unknown: ["Unknown", "bad", "the agent could not find out whether an object exists"],
  degraded: ["Degraded", "bad", "an object fails to get as its spec asks for"],
  drifted: ["Drifted", "warn", "an object has other fields than its manifest"],
  held: ["Held", "warn", "an admin of the cluster holds it back"],
  notReported: ["Not reported", "warn", "the agent has not reported this version of it"],
  progressing: ["Progressing", "busy", "an object is not yet as its spec asks for"],
  deleting: ["Deleting", "quiet", "it is being deleted"],
  asPrescribed: ["As prescribed", "good", "all objects are as their manifests say"],
};

const ROLLOUT_STATES: Record<RolloutCondition, [string, string, string]> = {
  unusable: ["Cannot roll out", "bad", "a placement or a strategy cannot be used"],
  stopped: ["Stopped", "bad", "more clusters have failed than the strategy allows"],
  failing: ["Failing", "bad", "the works of some clusters are not as they should be"],
  paused: ["Paused", "warn", "somebody has paused it"],
  approvalPending: ["Waits for approval", "warn", "a step waits for an approval"],
  progressing: ["Rolling out", "busy", "clusters are getting the template"],
  new: ["Not looked at yet", "quiet", "no controller has looked at it yet"],
  deleting: ["Deleting", "quiet", "it is being deleted"],
  complete: ["Complete", "good", "all selected clusters have succeeded"],
};

/** Word, look, and what it means. */
export const STAGES: Record<Stage, [string, string, string]> = {
  failed: ["Failed", "bad", "the template has failed there"],
  timedOut: ["Too late", "bad", "the deadline of the strategy has passed"],
  working: ["In work", "busy", "the cluster gets the template"],
  soaking: ["On trial", "trial", "the template works, and has to for a while before the next clusters get it"],
  waiting: ["Waiting", "quiet", "the cluster does not have the template yet"],
  leaving: ["Leaving", "quiet", "the placement does not select the cluster any more"],
  done: ["Done", "good", "the template works there"],
};

/** The bar shows what is done first. */
const ORDER: Stage[] = ["done", "soaking", "working", "failed", "timedOut", "waiting", "leaving"];

export function WorkBadge({ state }: { state: WorkCondition }) {
  return <Worded of={WORK_STATES[state]} />;
}

export function RolloutBadge({ state }: { state: RolloutCondition }) {
  return <Worded of={ROLLOUT_STATES[state]} />;
}

function Worded({ of: [word, look, meaning] }: { of: [string, string, string] }) {
  return (
    <span class={`badge ${look}`} title={meaning}>
      {word}
    </span>
  );
}

/** What the controller counted, for a user who may not list the works. */
function Reported({ of: { total, updated, available, progressing, degraded } }: { of: ReportedWorks }) {
  const said = [
    [updated, "up to date"],
    [available, "available"],
    [progressing, "progressing"],
    [degraded, "degraded"],
  ] as const;
  const shown = said.filter(([count]) => count > 0).map(([count, word]) => `${count.toLocaleString()} ${word}`);
  return (
    <span title="You may not list the works, so these are the numbers in the status of the replica set">
      {[`${total.toLocaleString()} ${total === 1 ? "work" : "works"}`, ...shown].join(", ")}
      <span class="quiet"> (by its status)</span>
    </span>
  );
}

/** The clusters of a placement by stage: a bar, and the numbers in words. */
export function Bar({ stage }: { stage: StageAnswer }) {
  const counts = ORDER.flatMap((it) => stage.counts.filter((count) => count.stage === it));
  const all = counts.reduce((sum, it) => sum + it.count, 0);
  return (
    <div class="rollout">
      <div class="bar-of-stages" aria-hidden="true">
        {counts.map((it) => (
          <span key={it.stage} class={STAGES[it.stage][1]} style={{ flexGrow: it.count }} />
        ))}
      </div>
      <p class="legend">
        {stage.reported ? <Reported of={stage.reported} /> : all === 0 && <span class="quiet">no cluster</span>}
        {counts.map((it) => (
          <span key={it.stage} title={STAGES[it.stage][2]}>
            <span class={`dot ${STAGES[it.stage][1]}`} aria-hidden="true" /> {it.count.toLocaleString()} {STAGES[it.stage][0].toLowerCase()}
          </span>
        ))}
        {stage.next && (
          <span class="quiet">
            next change <Until at={stage.next} />
          </span>
        )}
      </p>
    </div>
  );
}
