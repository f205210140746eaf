// One ManifestWork: its objects, those that are not as prescribed first, field by field.
import { Shown, useAnswer, useCommand } from "../answered";
import type { FieldAnswer, WorkAnswer, WorkObject } from "../answers";
import { Notes } from "../parts";
import { clusterPath, replicaSetPath } from "../router";
import { Ago } from "../time";
import { WorkBadge } from "../workstates";
import { Yaml } from "../yaml";
import { Conditions } from "./cluster";

export function Work({ cluster, name }: { cluster: string; name: string }) {
  const answered = useAnswer<WorkAnswer>({ screen: "work", cluster, name });
  useCommand(`berth work diff ${name} -n ${cluster}`);
  const it = answered.answer.value;
  return (
    <section class="works">
      <header class="bar">
        <div>
          <p class="crumb">
            <a href="/works">Works</a>
          </p>
          <h1>
            {name} {it && <WorkBadge state={it.row.state} />}
          </h1>
          <p class="facts">
            <span>
              on <a href={clusterPath(cluster)}>{cluster}</a>
            </span>
            {it?.row.set && (
              <span>
                of the replica set{" "}
                <a href={replicaSetPath(it.row.set.namespace, it.row.set.name)}>
                  {it.row.set.namespace}/{it.row.set.name}
                </a>
              </span>
            )}
            {it?.created && (
              <span>
                created <Ago at={it.created} words />
              </span>
            )}
          </p>
        </div>
      </header>
      <Shown of={answered}>{(it) => <Whole it={it} cluster={cluster} name={name} />}</Shown>
    </section>
  );
}

function Whole({ it, cluster, name }: { it: WorkAnswer; cluster: string; name: string }) {
  // Its objects say it.
  const isSaid = it.objects.some((object) => object.wrong.length > 0);
  const unseen = it.row.manifests - it.objects.length - it.more;
  return (
    <>
      {it.row.why && !isSaid && <p class="summary">{it.row.why}</p>}
      <Notes notes={it.notes} />
      <section aria-labelledby="objects">
        <h2 id="objects">Objects</h2>
        {it.objects.map((object) => (
          <One key={object.title} it={object} />
        ))}
        {it.more > 0 && <p class="hint">{it.more.toLocaleString()} more are not shown: berth get works {name} -n {cluster} -o tree</p>}
        {unseen > 0 && (
          <p class="none">
            Its agent has not reported about {unseen === it.row.manifests ? "its objects" : `${unseen.toLocaleString()} of its objects`} yet.
          </p>
        )}
      </section>
      <Conditions conditions={it.conditions} />
      <Yaml path={`/api/works/${encodeURIComponent(cluster)}/${encodeURIComponent(name)}/yaml`} of="the ManifestWork" />
    </>
  );
}

/** What a condition of an object says, in words. */
const APPLIED: Record<string, string> = { True: "applied", False: "not applied" };
const AVAILABLE: Record<string, string> = { True: "exists", False: "does not exist", Unknown: "may exist: the agent could not find out" };

function One({ it }: { it: WorkObject }) {
  const facts = [APPLIED[it.applied] ?? "not yet applied", AVAILABLE[it.available] ?? "not yet looked at"];
  return (
    <article class="card object" aria-label={it.title}>
      <h3>
        {it.title}{" "}
        {it.wrong.map((wrong) => (
          <WorkBadge key={wrong.state} state={wrong.state} />
        ))}
        {it.wrong.length === 0 && it.applied === "True" && it.available === "True" && <WorkBadge state="asPrescribed" />}
      </h3>
      <p class="by">{facts.join(", ")}</p>
      <Notes notes={it.wrong.map((wrong) => wrong.why).filter((why) => why !== "")} />
      {it.fields.length > 0 && <Fields it={it} />}
      {it.contested && <p class="mind">The agent puts this back, and another client changes it again and again. The agent does so less often each time.</p>}
      <Notes notes={it.conditions.map((row) => `${row.type} is ${row.status}${row.message ? `: ${row.message}` : ""}`)} />
      {it.values.length > 0 && (
        <dl class="pairs">
          {it.values.map((value) => (
            <div key={value.name}>
              <dt>{value.name}</dt>
              <dd>{value.value}</dd>
            </div>
          ))}
        </dl>
      )}
    </article>
  );
}

function Fields({ it }: { it: WorkObject }) {
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Fields of ${it.title} that differ`}>
        <table>
          <thead>
            <tr>
              {["Field", "In the manifest", "On the cluster", "Written by"].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {it.fields.map((field) => (
              <Field key={field.path} field={field} />
            ))}
          </tbody>
        </table>
      </div>
      {it.moreFields > 0 && <p class="hint">{it.moreFields.toLocaleString()} more fields differ; the agent reports the first ones.</p>}
    </>
  );
}

function Field({ field }: { field: FieldAnswer }) {
  return (
    <tr>
      <th scope="row">
        <code>{field.path}</code>
      </th>
      <td>{field.prescribed === undefined ? <span class="quiet">not in it</span> : <code>{field.prescribed}</code>}</td>
      <td>{field.found === undefined ? <span class="quiet">not there</span> : <code>{field.found}</code>}</td>
      <td>{field.manager ?? <span class="quiet">not known</span>}</td>
    </tr>
  );
}
