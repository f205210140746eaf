// What the user may do, as the hub answers.
import { useEffect, useState } from "preact/hooks";
import type { Failure, RightAnswer, RightsAnswer } from "./answers";
import { call, failureOf } from "./api";
import { Command, Filter, Lacking, Wrong } from "./parts";
import { params } from "./router";

export function Rights() {
  const namespace = params.value.get("q") ?? "";
  const [answer, setAnswer] = useState<RightsAnswer>();
  const [failure, setFailure] = useState<Failure>();
  useEffect(() => {
    let gone = false;
    call<RightsAnswer>("GET", `/api/rights?namespace=${encodeURIComponent(namespace)}`).then(
      (it) => gone || (setAnswer(it), setFailure(undefined)),
      (error) => gone || setFailure(failureOf(error)),
    );
    return () => {
      gone = true;
    };
  }, [namespace]);
  return (
    <>
      <section class="card below" aria-label="What you may do on the fleet">
        <h2>What you may do</h2>
        {!answer && !failure && <p role="status">The hub is asked…</p>}
        {answer && <List rights={answer.fleet} />}
        <p class="hint">A “No” here may be a “Yes” for a single cluster or set. To ask:</p>
        <Command text="berth can-i accept NAME" />
      </section>
      <section class="card below" aria-label="What you may do in namespaces">
        <h2>{namespace ? `In the namespace ${namespace}` : "In all namespaces"}</h2>
        <Filter label="Namespace" hint="A namespace: of a team, or of a cluster, whose works are there" />
        {failure ? <Wrong failure={failure} /> : answer && <List rights={answer.within} />}
      </section>
    </>
  );
}

function List({ rights }: { rights: RightAnswer[] }) {
  return (
    <ul class="rights">
      {rights.map((it) => (
        <li key={it.what}>
          <Right right={it} />
        </li>
      ))}
    </ul>
  );
}

function Right({ right: { what, allowed, missing, why } }: { right: RightAnswer }) {
  if (!missing) {
    return (
      <>
        <strong class={allowed ? "yes" : ""}>{allowed ? "Yes" : "Not known"}</strong> {what}
        {why && <p class="hint">{why}</p>}
      </>
    );
  }
  return (
    <details>
      <summary>
        <strong>No</strong> {what}
      </summary>
      <div class="refused">
        <Lacking missing={missing} />
      </div>
    </details>
  );
}
