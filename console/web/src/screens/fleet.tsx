// The fleet: whether anything is wrong, and what needs a person.
import { useEffect, useRef } from "preact/hooks";
import { Shown, useAnswer, useCommand } from "../answered";
import type { Counts, FleetAnswer, FleetSet, Need, Share, State } from "../answers";
import { Empty, Notes, STATES } from "../parts";
import { clustersPath, quoted } from "../router";
import { Ago } from "../time";

/** The worst first: the squares of a set are in this order. */
const ORDER: State[] = ["unavailable", "unknown", "deleting", "pending", "accepted", "joined", "denied", "available"];

export function Fleet() {
  const answered = useAnswer<FleetAnswer>({ screen: "fleet" });
  useCommand("berth get clusters");
  return (
    <section class="fleet">
      <header class="bar">
        <h1>Fleet</h1>
      </header>
      <Shown of={answered}>{(it) => <All it={it} />}</Shown>
    </section>
  );
}

function All({ it }: { it: FleetAnswer }) {
  if (it.total === 0) {
    return (
      <Empty title="This hub has no cluster yet.">
        <p>A token and the command for the first one: berth get token</p>
      </Empty>
    );
  }
  return (
    <>
      <Tiles it={it} />
      <section aria-labelledby="needs">
        <h2 id="needs">What needs you</h2>
        {it.needs.length === 0 && (
          <p class="calm">{it.notes.length === 0 ? "Nothing. All clusters that are accepted report, and nobody waits." : "Nothing among what you may see."}</p>
        )}
        <ul class="needs">
          {it.needs.map((need) => (
            <OneNeed key={need.text + need.link} need={need} />
          ))}
        </ul>
        {it.more > 0 && <p class="hint">{it.more} more are not shown.</p>}
      </section>
      <section aria-labelledby="sets">
        <h2 id="sets">Sets</h2>
        <div class="cards">
          {it.sets.map((set) => (
            <OneSet key={set.name} set={set} />
          ))}
        </div>
        {it.moreSets > 0 && <p class="hint">{it.moreSets} more sets are not shown.</p>}
      </section>
      <div class="cards">
        <Shares title="Kubernetes" shares={it.versions} total={it.total} />
        <Shares title="Regions" shares={it.regions} total={it.total} />
      </div>
      <Notes notes={it.notes} />
    </>
  );
}

/** The number of clusters in each state, each a link to them. */
function Tiles({ it }: { it: FleetAnswer }) {
  const states = (Object.keys(STATES) as State[]).filter((state) => it.counts[state] > 0);
  return (
    <ul class="tiles" aria-label="Clusters by state">
      <li>
        <a href="/clusters">
          <span class="count">{it.total.toLocaleString()}</span> {it.total === 1 ? "cluster" : "clusters"}
        </a>
      </li>
      {states.map((state) => (
        <li key={state}>
          <a href={clustersPath(state)} class={state}>
            <span class="count">{it.counts[state].toLocaleString()}</span> {STATES[state][0]}
          </a>
        </li>
      ))}
      {it.cordoned > 0 && (
        <li>
          <a href={clustersPath("cordoned")}>
            <span class="count">{it.cordoned.toLocaleString()}</span> Cordoned
          </a>
        </li>
      )}
    </ul>
  );
}

function OneNeed({ need }: { need: Need }) {
  const [sign, word, look] = need.severity === "broken" ? ["✕", "does not work", "bad"] : ["…", "waits for a person", "warn"];
  return (
    <li>
      <span class={`sign ${look}`} role="img" aria-label={word}>
        {sign}
      </span>
      <a href={need.link}>{need.text}</a>
      {need.since && (
        <span class="by">
          for <Ago at={need.since} />
        </span>
      )}
    </li>
  );
}

function OneSet({ set }: { set: FleetSet }) {
  const query = `set:${quoted(set.name)}`;
  const states = ORDER.filter((state) => set.counts[state] > 0);
  return (
    <section class="card" aria-label={set.name || "In no set"}>
      <h3>
        <a href={clustersPath(query)}>{set.name || "In no set"}</a> <span class="by">{set.total.toLocaleString()}</span>
      </h3>
      <Squares counts={set.counts} />
      <p class="legend">
        {states.map((state) => (
          <a key={state} href={clustersPath(`${query} ${state}`)} class={state}>
            {set.counts[state].toLocaleString()} {STATES[state][0].toLowerCase()}
          </a>
        ))}
      </p>
    </section>
  );
}

const SIZE = 8;
const STEP = SIZE + 2;

/** A square for each cluster, the worst first. The words below say the same. */
function Squares({ counts }: { counts: Counts }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const key = JSON.stringify(counts);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const draw = () => paint(element, counts);
    draw();
    const sized = new ResizeObserver(draw);
    if (element.parentElement) sized.observe(element.parentElement);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => {
      sized.disconnect();
      dark.removeEventListener("change", draw);
    };
  }, [key]);
  return <canvas ref={canvas} aria-hidden="true" class="squares" />;
}

function paint(canvas: HTMLCanvasElement, counts: Counts): void {
  const width = canvas.parentElement?.clientWidth ?? 0;
  const columns = Math.max(1, Math.floor((width - 32) / STEP));
  const total = ORDER.reduce((sum, state) => sum + counts[state], 0);
  const height = Math.ceil(total / columns) * STEP;
  const scale = devicePixelRatio;
  canvas.width = columns * STEP * scale;
  canvas.height = height * scale;
  canvas.style.width = `${columns * STEP}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(scale, scale);
  let at = 0;
  for (const state of ORDER) {
    canvas.style.color = `var(${COLOURS[state]})`;
    context.fillStyle = context.strokeStyle = getComputedStyle(canvas).color;
    for (let count = counts[state]; count > 0; count--, at++) {
      const [x, y] = [(at % columns) * STEP, Math.floor(at / columns) * STEP];
      // Those that are not in use are hollow.
      if (state === "available" || state === "unavailable" || state === "unknown") context.fillRect(x, y, SIZE, SIZE);
      else context.strokeRect(x + 0.5, y + 0.5, SIZE - 1, SIZE - 1);
    }
  }
}

const COLOURS: Record<State, string> = {
  unavailable: "--red",
  unknown: "--red",
  deleting: "--quiet",
  pending: "--amber",
  accepted: "--blue",
  joined: "--blue",
  denied: "--quiet",
  available: "--green",
};

function Shares({ title, shares, total }: { title: string; shares: Share[]; total: number }) {
  if (shares.length === 0) return null;
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <ul class="funnel">
        {shares.map((share) => (
          <li key={share.name}>
            <span class="number">{share.clusters.toLocaleString()}</span>
            <span class="track" aria-hidden="true">
              <span style={{ width: `${(100 * share.clusters) / total}%` }} />
            </span>
            <a href={clustersPath(share.query)}>{share.name}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}
