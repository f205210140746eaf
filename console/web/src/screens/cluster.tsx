// One cluster: the registration as two columns of steps, and what is known of it.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Actions } from "../actions";
import { Shown, useAnswer, useCommand } from "../answered";
import type { ClusterAnswer, ClusterEvent, ConditionAnswer, EventsAnswer, Failure, Handshake, LeaseAnswer, Step } from "../answers";
import { call, failureOf, session } from "../api";
import { ask } from "../ask";
import { Badge, Command, Crumb, Notes, Wrong, sentence } from "../parts";
import { Renewals } from "../renewals";
import { ofCluster, placementPath, worksPath } from "../router";
import { Ago, now, span } from "../time";
import { Yaml } from "../yaml";
import { WorkBadge } from "../workstates";

export function Cluster({ name }: { name: string }) {
  const answered = useAnswer<ClusterAnswer>({ screen: "cluster", name });
  useCommand(`berth get clusters ${name} -o yaml`);
  const it = answered.answer.value;
  return (
    <section class="cluster">
      <header class="bar">
        <div>
          <Crumb to="/clusters" title="Clusters" />
          <h1>
            {name} {it && <Badge state={it.state} />} {it?.cordoned && <span class="tag">cordoned</span>}
          </h1>
          {it && (
            <p class="facts">
              {it.version && <span>Kubernetes {it.version}</span>}
              {it.created && (
                <span>
                  created <Ago at={it.created} words />
                </span>
              )}
              {it.urls.map((url) => (
                <span key={url}>{url}</span>
              ))}
            </p>
          )}
        </div>
        {it && <Actions of={ofCluster(name)} offers={it.actions} />}
      </header>
      <Shown of={answered}>{(it) => <Whole it={it} />}</Shown>
    </section>
  );
}

function Whole({ it }: { it: ClusterAnswer }) {
  return (
    <>
      <Shake shake={it.handshake} />
      <div class="cards">
        <Card title="Heartbeat">
          {it.lease ? <Lease cluster={it.name} lease={it.lease} /> : <p class="none">{unseen(it, "Lease") ? "You may not see its Lease." : "Its agent has no Lease."}</p>}
        </Card>
        <Card title="Sets">
          {it.sets.length === 0 && <p class="none">{unseen(it, "sets") ? "You may not see sets." : "It belongs to no set."}</p>}
          <dl>
            {it.sets.map((set) => (
              <div key={set.name}>
                <dt>{set.name}</dt>
                <dd>
                  {set.byLabel ? "by its label" : "by the set's selector"}
                  {set.bound.length > 0 ? `; bound to ${set.bound.join(", ")}` : "; bound to no namespace"}
                </dd>
              </div>
            ))}
          </dl>
        </Card>
        <Card title="Placements">
          {it.placements === undefined && <p class="none">You may not see decisions.</p>}
          {it.placements?.length === 0 && <p class="none">No placement has selected it.</p>}
          <ul class="plain">
            {it.placements?.map((placed) => (
              <li key={`${placed.namespace}/${placed.name}`}>
                <a href={`${placementPath(placed.namespace, placed.name)}?q=${encodeURIComponent(it.name)}`}>
                  {placed.namespace}/{placed.name}
                </a>
              </li>
            ))}
          </ul>
          {it.morePlacements > 0 && <p class="hint">and {it.morePlacements} more</p>}
          <p class="hint">
            Why not another one? <a href="/placements">Open it</a>, and search for the cluster there.
          </p>
        </Card>
        <Card title="Taints">
          {it.taints.length === 0 && <p class="none">None: placements may select it.</p>}
          <dl>
            {it.taints.map((taint) => (
              <div key={taint.key + taint.effect}>
                <dt>
                  {taint.key}
                  {taint.value && `=${taint.value}`}: {taint.effect}
                </dt>
                <dd>
                  {taint.byHub ? "set and removed by the hub" : "set by a person"}
                  {taint.added && (
                    <>
                      , <Ago at={taint.added} words />
                    </>
                  )}
                </dd>
              </div>
            ))}
          </dl>
        </Card>
        <Card title="Capacity">
          {it.capacity.length === 0 && <p class="none">Its agent has reported none.</p>}
          {it.capacity.length > 0 && (
            <table>
              <thead>
                <tr>
                  <th scope="col">Resource</th>
                  <th scope="col" class="number">
                    Allocatable
                  </th>
                  <th scope="col" class="number">
                    Capacity
                  </th>
                </tr>
              </thead>
              <tbody>
                {it.capacity.map((row) => (
                  <tr key={row.resource}>
                    <th scope="row">{row.resource}</th>
                    <td class="number">{row.allocatable}</td>
                    <td class="number">{row.capacity}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Card>
        <Card title="Works">
          <WorkCounts it={it} />
        </Card>
        <Pairs title="Claims" pairs={it.claims} none="Its agent has reported none." />
        <Card title="Labels">
          <List pairs={it.labels} none="None." />
          {!session.value?.readOnly && <LabelForm name={it.name} />}
        </Card>
      </div>
      <Conditions conditions={it.conditions} />
      {it.notes.length > 0 && (
        <section aria-labelledby="unseen">
          <h2 id="unseen">What you do not see</h2>
          <Notes notes={it.notes} />
        </section>
      )}
      <Happened name={it.name} state={it.state} />
      <Yaml path={`/api/clusters/${encodeURIComponent(it.name)}/yaml`} of="the ManagedCluster" />
    </>
  );
}

function WorkCounts({ it }: { it: ClusterAnswer }) {
  if (it.works === undefined) return <p class="none">{unseen(it, "Its works") ? "You may not list its works." : "Reading from the hub…"}</p>;
  if (it.works.length === 0) return <p class="none">It has none.</p>;
  return (
    <>
      <ul class="plain">
        {it.works.map(({ state, count }) => (
          <li key={state}>
            <span class="count">{count.toLocaleString()}</span> <WorkBadge state={state} />
          </li>
        ))}
      </ul>
      <a href={worksPath(`${it.name}/`)}>All its works</a>
    </>
  );
}

function Shake({ shake }: { shake: Handshake }) {
  return (
    <section aria-labelledby="shake">
      <h2 id="shake">Registration</h2>
      <p class="summary">{sentence(shake.summary)}</p>
      {shake.next && (
        <div class="next">
          <p>
            <strong>{shake.next.side === "hub" ? "At the hub" : "At the cluster"}:</strong> {shake.next.text}
          </p>
          {shake.next.command && <Command text={shake.next.command} />}
        </div>
      )}
      <div class="shake">
        <Steps title="Hub" steps={shake.hub} />
        <Steps title="Agent" steps={shake.agent} />
      </div>
    </section>
  );
}

const SIGNS: Record<Step["state"], [string, string]> = {
  done: ["✓", "done"],
  waits: ["…", "waits"],
  failed: ["✕", "failed"],
  later: ["·", "later"],
  unseen: ["?", "cannot be seen"],
};

/** A note says that this cannot be shown. */
function unseen(it: ClusterAnswer, what: string): boolean {
  return it.notes.some((note) => note.includes(what));
}

function Steps({ title, steps }: { title: string; steps: Step[] }) {
  return (
    <div>
      <h3>{title}</h3>
      <ol class="steps">
        {steps.map((step) => (
          <li key={step.kind} class={step.state}>
            <span class="sign" role="img" aria-label={SIGNS[step.state][1]}>
              {SIGNS[step.state][0]}
            </span>
            <div>
              <strong>{step.title}</strong>
              <p>{step.text}</p>
              {(step.at || step.by) && (
                <p class="by">
                  {step.at && <Ago at={step.at} words />} {step.by && `by ${step.by}`}
                </p>
              )}
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Lease({ cluster, lease }: { cluster: string; lease: LeaseAnswer }) {
  const passed = lease.renewed === undefined ? undefined : (now.value - Date.parse(lease.renewed)) / 1_000;
  return (
    <>
      <p class={lease.late ? "error" : ""}>
        {passed === undefined ? "It was never renewed." : `Renewed ${span(passed)} ago, due every ${span(lease.seconds)}.`}
      </p>
      {passed !== undefined && (
        <meter min={0} max={lease.graceSeconds} low={lease.seconds * 1.5} high={lease.graceSeconds * 0.8} optimum={0} value={passed} aria-label="Time since the last renewal">
          {span(passed)}
        </meter>
      )}
      <p class="hint">The hub gives up after {span(lease.graceSeconds)}.</p>
      <Renewals cluster={cluster} lease={lease} />
    </>
  );
}

export function Card({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Pairs({ title, pairs, none }: { title: string; pairs: { name: string; value: string }[]; none: string }) {
  return (
    <Card title={title}>
      <List pairs={pairs} none={none} />
    </Card>
  );
}

function List({ pairs, none }: { pairs: { name: string; value: string }[]; none: string }) {
  return (
    <>
      {pairs.length === 0 && <p class="none">{none}</p>}
      <dl>
        {pairs.map((pair) => (
          <div key={pair.name}>
            <dt>{pair.name}</dt>
            <dd>{pair.value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** Changes of labels, in the words of berth label. */
function LabelForm({ name }: { name: string }) {
  const text = useSignal("");
  const labels = text.value.split(/\s+/).filter((it) => it !== "");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (labels.length === 0) return;
    const asked = [{ name, path: `/api/clusters/${encodeURIComponent(name)}/label`, body: { labels } }];
    ask({ title: `Change labels of ${name}`, word: "Change", look: "primary", asked, done: () => (text.value = "") });
  };
  return (
    <form class="inline" onSubmit={submit}>
      <input
        aria-label={`Labels of ${name} to set or remove`}
        placeholder="KEY=VALUE, or KEY- to remove it"
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
        autocomplete="off"
        spellcheck={false}
      />
      <button type="submit">Change…</button>
    </form>
  );
}

export function Conditions({ conditions }: { conditions: ConditionAnswer[] }) {
  if (conditions.length === 0) return null;
  return (
    <section aria-labelledby="conditions">
      <h2 id="conditions">Conditions</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of conditions">
        <table>
          <thead>
            <tr>
              {["Condition", "Status", "Reason", "Message", "Since"].map((title) => (
                <th key={title} scope="col" class={title === "Since" ? "number" : ""}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {conditions.map((row) => (
              <tr key={row.type}>
                <th scope="row">{row.type}</th>
                <td>{row.status}</td>
                <td>{row.reason}</td>
                <td class="text">{row.message}</td>
                <td class="number">
                  <Ago at={row.since} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Events are read when the page opens, and again when the state changes. */
function Happened({ name, state }: { name: string; state: string }) {
  const answer = useSignal<EventsAnswer | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  useEffect(() => {
    let ended = false;
    call<EventsAnswer>("GET", `/api/clusters/${encodeURIComponent(name)}/events`).then(
      (it) => !ended && (answer.value = it),
      (error) => !ended && (failure.value = failureOf(error)),
    );
    return () => {
      ended = true;
    };
  }, [name, state]);
  return (
    <section aria-labelledby="events">
      <h2 id="events">Events</h2>
      {failure.value && <Wrong failure={failure.value} />}
      {answer.value && <Notes notes={answer.value.notes} />}
      {answer.value && answer.value.events.length === 0 && answer.value.notes.length === 0 && <p class="none">Nothing was reported lately.</p>}
      <ul class="events">{answer.value?.events.map((event, index) => <OneEvent key={index} event={event} />)}</ul>
      {answer.value?.more && <p class="hint">Older Events are left out: kubectl get events -n {name}</p>}
    </section>
  );
}

function OneEvent({ event }: { event: ClusterEvent }) {
  return (
    <li class={event.warning ? "warning" : ""}>
      <Ago at={event.at} /> <strong>{event.reason}</strong> {event.note}{" "}
      <span class="by">
        {event.by}
        {event.count > 1 && `, ${event.count} times`}
      </span>
    </li>
  );
}
