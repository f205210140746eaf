// Who asks to be managed: clusters and CSRs that wait for a decision.
import { Actions } from "../actions";
import { Shown, useAnswer, useCommand } from "../answered";
import type { CsrAnswer, CsrStanding, PendingCluster, RequestsAnswer } from "../answers";
import { Empty, Notes } from "../parts";
import { clusterPath, ofCluster } from "../router";
import { Ago } from "../time";

export function Requests() {
  const answered = useAnswer<RequestsAnswer>({ screen: "requests" });
  useCommand("berth get pending");
  return (
    <section class="requests">
      <header class="bar">
        <h1>Requests</h1>
      </header>
      <Shown of={answered}>{(it) => <All it={it} />}</Shown>
    </section>
  );
}

function All({ it }: { it: RequestsAnswer }) {
  const isEmpty = it.clusters.length === 0 && it.strays.length === 0;
  return (
    <>
      <Notes notes={it.notes} />
      {isEmpty && (
        <Empty title="Nobody waits.">
          <p>New clusters appear here by themselves. The command for one: berth get token</p>
        </Empty>
      )}
      {it.clusters.map((cluster) => <Pending key={cluster.name} it={cluster} />)}
      {it.more > 0 && <p class="hint">{it.more} more are not shown: berth get pending</p>}
      {it.strays.length > 0 && (
        <section class="card" aria-labelledby="strays">
          <h2 id="strays">CSRs of clusters that do not exist</h2>
          {it.strays.map((csr) => (
            <Csr key={csr.name} csr={csr} />
          ))}
        </section>
      )}
    </>
  );
}

function Pending({ it }: { it: PendingCluster }) {
  return (
    <article class="card request" aria-label={it.name}>
      <header class="bar">
        <div>
          <h2>
            <a href={clusterPath(it.name)}>{it.name}</a>
          </h2>
          <p class="facts">
            <span>{it.accepted ? "accepted; a certificate is asked for" : it.denied ? "denied before" : "asks to be managed"}</span>
            {it.created && (
              <span>
                since <Ago at={it.created} />
              </span>
            )}
            {it.urls.map((url) => (
              <span key={url}>{url}</span>
            ))}
          </p>
        </div>
        <Actions of={ofCluster(it.name)} offers={it.actions} />
      </header>
      {it.warnings.length > 0 && (
        <div class="mind">
          <p>Look at this before you accept it:</p>
          <Notes notes={it.warnings} />
        </div>
      )}
      {it.csrs.length === 0 && <p class="none">Its agent has sent no CSR, or you may not read it.</p>}
      {it.csrs.map((csr) => (
        <Csr key={csr.name} csr={csr} />
      ))}
    </article>
  );
}

const STANDINGS: Record<CsrStanding, string> = {
  approve: "is approved when the cluster is accepted",
  approved: "is approved",
  denied: "is denied",
  renewal: "renews a certificate",
  left: "stays pending",
};

function Csr({ csr }: { csr: CsrAnswer }) {
  const rows: [string, string | undefined][] = [
    ["Sent by", csr.sender],
    ["In the groups", csr.groups.join(", ")],
    ["For", csr.requester],
    ["Key", csr.fingerprint],
    ["Why", csr.why],
  ];
  return (
    <div class="csr">
      <h3>
        CSR {csr.name} {STANDINGS[csr.standing]}
        {csr.created && (
          <>
            {" · "}
            <Ago at={csr.created} words />
          </>
        )}
      </h3>
      <dl>
        {rows
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd class={name === "Key" ? "key" : ""}>{value}</dd>
            </div>
          ))}
      </dl>
    </div>
  );
}
