// The hub's health: what berth doctor finds, who leads, and what runs.
import { useSignal } from "@preact/signals";
import { Shown, useAnswer, useCommand } from "../answered";
import type { CheckResult, FindingAnswer, HealthAnswer } from "../answers";
import { call, failureOf } from "../api";
import { Command, Notes, tell } from "../parts";
import { Ago } from "../time";

/** The sign, the word, and the look of a result. */
const RESULTS: Record<CheckResult, [string, string, string]> = {
  fault: ["✕", "Fault", "fault"],
  warning: ["!", "Warning", "warning"],
  unknown: ["?", "Not checked", "unchecked"],
  skipped: ["·", "Does not apply", "skipped"],
  passed: ["✓", "Passed", "passed"],
};

/** What needs a person. */
const OPEN: CheckResult[] = ["fault", "warning", "unknown"];

export function Health() {
  const answered = useAnswer<HealthAnswer>({ screen: "health" });
  useCommand("berth doctor -v");
  const it = answered.answer.value;
  return (
    <section class="health">
      <header class="bar">
        <div>
          <h1>Health of the hub</h1>
          {it && (
            <p class="facts">
              <span>
                checked <Ago at={it.looked} words />, in {(it.milliseconds / 1000).toFixed(1)} s
              </span>
              {it.kubernetes && <span>Kubernetes {it.kubernetes}</span>}
              <span>this console is Berth {it.version}</span>
            </p>
          )}
        </div>
        <LookAgain running={it?.running ?? true} />
      </header>
      <Shown of={answered}>{(it) => <All it={it} />}</Shown>
    </section>
  );
}

function LookAgain({ running }: { running: boolean }) {
  const asked = useSignal(false);
  const look = async () => {
    asked.value = true;
    try {
      await call("POST", "/api/health", {});
    } catch (error) {
      const failure = failureOf(error);
      tell([failure.message, failure.remedy].filter(Boolean).join(": "));
    }
    asked.value = false;
  };
  // The words differ in length, and the button keeps its width.
  return (
    <button type="button" class="look" disabled={running || asked.value} onClick={() => void look()}>
      {running || asked.value ? "Looking…" : "Look again"}
    </button>
  );
}

function All({ it }: { it: HealthAnswer }) {
  const open = it.findings.filter((finding) => OPEN.includes(finding.severity));
  const rest = it.findings.filter((finding) => !OPEN.includes(finding.severity));
  return (
    <>
      <p class={`summary ${it.findings[0]?.severity === "fault" ? "error" : ""}`}>{it.summary}</p>
      {it.failed && (
        <p class="error" role="alert">
          The checks could not run again: {it.failed}
        </p>
      )}
      <p class="hint">
        {it.followed
          ? "The checks run again when a Deployment or a registration of the hub changes. For all else, look again."
          : "You may not watch the hub's Deployments and registrations: the checks run again only when you ask."}{" "}
        {!it.dryRuns && "The console was started with --read-only: no malformed write is sent as a dry run to see whether Berth refuses it."}
      </p>
      <Notes notes={it.notes} />
      {open.length > 0 && (
        <section aria-labelledby="findings">
          <h2 id="findings">What to look at</h2>
          {open.map((finding, index) => (
            <Finding key={index} it={finding} />
          ))}
        </section>
      )}
      {it.more > 0 && <p class="hint">{it.more} more findings are not shown: berth doctor -o json</p>}
      <div class="cards two">
        <Leaders it={it} />
        <Components it={it} />
      </div>
      <Checks it={it} />
      {rest.length > 0 && (
        <details class="quiet">
          <summary>Notes, and checks that do not apply: {rest.length}</summary>
          <ul class="notes">
            {rest.map((finding, index) => (
              <li key={index}>
                <strong>{finding.check}</strong>
                {finding.object && `, ${finding.object}`}: {finding.message}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Result({ of }: { of: CheckResult }) {
  const [sign, word, look] = RESULTS[of];
  return (
    <span class={`badge ${look}`}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  );
}

function Finding({ it }: { it: FindingAnswer }) {
  return (
    <article class={`card finding ${it.severity}`} aria-label={`${it.check}: ${it.object ?? ""}`}>
      <h3>
        <Result of={it.severity} /> {it.check}
        {it.object && <span class="by"> {it.object}</span>}
      </h3>
      <p>{it.message}</p>
      {it.remedy.length > 0 && (
        <p class="remedy">
          <span>Remedy: </span>
          {it.remedy.map((part, index) => (part.command ? <Command key={index} text={part.text} /> : <span key={index}>{part.text}</span>))}
        </p>
      )}
    </article>
  );
}

function Leaders({ it }: { it: HealthAnswer }) {
  return (
    <section class="card" aria-labelledby="leaders">
      <h2 id="leaders">Leaders</h2>
      {it.leaders.length === 0 && <p class="none">No controller has a Lease, or you may not read Leases.</p>}
      {it.leaders.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of leaders">
          <table>
            <thead>
              <tr>
                <th scope="col">Controller</th>
                <th scope="col">Held by</th>
                <th scope="col" class="number">
                  Renewed
                </th>
                <th scope="col" class="number wide">
                  Changes
                </th>
              </tr>
            </thead>
            <tbody>
              {it.leaders.map((leader) => (
                <tr key={leader.lease}>
                  <th scope="row" title={leader.lease}>
                    {leader.controller}
                  </th>
                  <td class="holder">{leader.holder || "nobody"}</td>
                  <td class={`number since ${leader.late ? "error" : ""}`}>
                    {leader.renewed ? <Ago at={leader.renewed} words /> : "never"}
                    {leader.late && <span class="hidden">, too long ago</span>}
                  </td>
                  <td class="number wide">{leader.transitions}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Components({ it }: { it: HealthAnswer }) {
  return (
    <section class="card" aria-labelledby="components">
      <h2 id="components">What runs</h2>
      {it.components.length === 0 && <p class="none">The hub's namespace has no Deployment, or you may not list them. A gate may also run outside of the hub.</p>}
      {it.components.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of Deployments">
          <table>
            <thead>
              <tr>
                <th scope="col">Deployment</th>
                <th scope="col">Version</th>
                <th scope="col" class="number">
                  Available
                </th>
              </tr>
            </thead>
            <tbody>
              {it.components.map((component) => (
                <tr key={component.name}>
                  <th scope="row">{component.name}</th>
                  <td title={component.image}>{component.version ?? component.image}</td>
                  <td class={`number ${component.available < component.replicas ? "error" : ""}`}>
                    {component.available} of {component.replicas}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Checks({ it }: { it: HealthAnswer }) {
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">All checks</h2>
      <ul class="checks">
        {it.checks.map((check) => {
          const [sign, word, look] = RESULTS[check.result];
          return (
            <li key={check.id} class={look}>
              <span class="sign" role="img" aria-label={word}>
                {sign}
              </span>
              <div>
                <strong>{check.id}</strong>
                <p>{check.title}</p>
              </div>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
