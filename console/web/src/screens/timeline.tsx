// What happened on the hub: Events, changes of conditions, and writes, the newest first.
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Shown, useAnswer, useCommand } from "../answered";
import type { Facet, TimelineAnswer, TimelineEntry } from "../answers";
import { Empty, Notes } from "../parts";
import { change, clusterPath, params } from "../router";
import { Ago, present } from "../time";
import { useTyped } from "../typed";

interface Visit {
  /** The time of the newest entry that was shown, by the hub's clock. */
  newest: number;
  /** The entries that were shown at last. */
  shown: Set<string>;
  /** When the page was left, by the clock of ages. */
  left: string;
}

/** The last visit of this tab. Nothing is kept beyond the tab. */
const last = signal<Visit | undefined>(undefined);

/** Conditions and writes have times in whole seconds: what happened right after the newest entry may seem to be older than it. */
const PRECISION = 1_000;

const FILTERS = ["cluster", "set", "kind", "reason"] as const;

export function Timeline() {
  const filter = Object.fromEntries(FILTERS.map((it) => [it, params.value.get(it) ?? ""]));
  const answered = useAnswer<TimelineAnswer>({ screen: "timeline", ...filter });
  useCommand("kubectl get events.events.k8s.io -A");
  // The line stays where it was when the page was opened, or the tab was looked at again.
  const visit = useSignal(last.peek());
  const newest = useRef<number | undefined>(undefined);
  const shown = useRef<TimelineEntry[]>([]);
  shown.current = answered.answer.value?.entries ?? shown.current;
  const seen = shown.current[0];
  if (seen) newest.current = Math.max(newest.current ?? 0, Date.parse(seen.at));
  useEffect(() => {
    const leave = () => {
      if (newest.current === undefined) return;
      last.value = { newest: newest.current, shown: new Set(shown.current.map((it) => it.id)), left: new Date(present()).toISOString() };
    };
    const turn = () => (document.visibilityState === "hidden" ? leave() : (visit.value = last.value));
    document.addEventListener("visibilitychange", turn);
    return () => {
      document.removeEventListener("visibilitychange", turn);
      leave();
    };
  }, []);
  return (
    <section class="timeline">
      <header class="bar">
        <h1>Timeline</h1>
      </header>
      <Filters answer={answered.answer.value} filter={filter} />
      <Shown of={answered}>{(it) => <All it={it} visit={visit.value} />}</Shown>
    </section>
  );
}

function Filters({ answer, filter }: { answer: TimelineAnswer | undefined; filter: Record<string, string> }) {
  const typed = useTyped(filter["cluster"] ?? "", (text) => change({ cluster: text.trim() }));
  // The lists stay while another answer is on its way.
  const known = useRef<TimelineAnswer | undefined>(undefined);
  known.current = answer ?? known.current;
  return (
    <div class="filters" role="search" aria-label="Filter">
      <label>
        <span>Cluster</span>
        <input id="search" type="search" {...typed} placeholder="a part of the name" autocomplete="off" spellcheck={false} />
      </label>
      <Choice title="Set" name="set" value={filter["set"] ?? ""} facets={known.current?.sets} />
      <Choice title="Kind" name="kind" value={filter["kind"] ?? ""} facets={known.current?.kinds} />
      <Choice title="Reason" name="reason" value={filter["reason"] ?? ""} facets={known.current?.reasons} />
    </div>
  );
}

function Choice({ title, name, value, facets = [] }: { title: string; name: string; value: string; facets?: Facet[] | undefined }) {
  const isKnown = value === "" || facets.some((it) => it.name === value);
  return (
    <label>
      <span>{title}</span>
      <select value={value} onChange={(event) => change({ [name]: event.currentTarget.value })}>
        <option value="">all</option>
        {!isKnown && <option value={value}>{value} (0)</option>}
        {facets.map((it) => (
          <option key={it.name} value={it.name}>
            {it.name} ({it.count})
          </option>
        ))}
      </select>
    </label>
  );
}

function All({ it, visit }: { it: TimelineAnswer; visit: Visit | undefined }) {
  const isNew = (entry: TimelineEntry) => {
    if (visit === undefined) return false;
    const later = Date.parse(entry.at) - visit.newest;
    return later > 0 || (later >= -PRECISION && !visit.shown.has(entry.id));
  };
  const fresh = it.entries.filter(isNew);
  return (
    <>
      <Notes notes={it.notes} />
      {it.total === 0 && (
        <Empty title="Nothing happened lately.">
          <p>Events are kept by the hub for an hour, unless it is set up otherwise. New ones appear here by themselves.</p>
        </Empty>
      )}
      {it.total > 0 && it.matched === 0 && (
        <Empty title="Nothing matches.">
          <button type="button" onClick={() => change(Object.fromEntries(FILTERS.map((name) => [name, ""])))}>
            Show all {it.total}
          </button>
        </Empty>
      )}
      {it.matched > 0 && (
        <ol class="happened">
          {fresh.map((entry) => (
            <Entry key={entry.id} it={entry} fresh />
          ))}
          {visit && <Line key="line" visit={visit} text={fresh.length === 0 ? "Nothing new" : `${fresh.length} new`} />}
          {it.entries.map((entry) => !isNew(entry) && <Entry key={entry.id} it={entry} fresh={false} />)}
        </ol>
      )}
      {it.matched > it.entries.length && (
        <p class="hint">
          The newest {it.entries.length} of {it.matched} are shown. Choose a cluster, a set, a kind or a reason to see others.
        </p>
      )}
      {it.cut && <p class="hint">Older ones are not kept: at most 500 Events, and 500 changes of clusters.</p>}
    </>
  );
}

/** What was there when the page was left is below it. */
function Line({ visit, text }: { visit: Visit; text: string }) {
  return (
    <li class="line">
      <span>
        {text} since you last looked, <Ago at={visit.left} words />
      </span>
    </li>
  );
}

const SOURCES: Record<TimelineEntry["source"], string> = {
  event: "reported by",
  condition: "written by",
  write: "by",
};

/** The screen of the object, if there is one. */
function screenOf(it: TimelineEntry): string | undefined {
  const [namespace, name] = [it.namespace, it.name].map(encodeURIComponent);
  switch (it.kind) {
    case "ManagedCluster":
      return clusterPath(it.name);
    case "Placement":
      return `/placements/${namespace}/${name}`;
    case "ManifestWork":
      return `/works/${namespace}/${name}`;
    case "ManifestWorkReplicaSet":
      return `/replicasets/${namespace}/${name}`;
    default:
      return undefined;
  }
}

function Entry({ it, fresh }: { it: TimelineEntry; fresh: boolean }) {
  const name = it.namespace === "" ? it.name : `${it.namespace}/${it.name}`;
  const to = screenOf(it);
  return (
    <li class={`${it.warning ? "warning" : ""} ${fresh ? "fresh" : ""}`}>
      <span class="when">
        <Ago at={it.at} />
      </span>
      <div>
        <p class="what">
          <strong>{it.reason}</strong>
          {it.warning && <span class="hidden"> (warning)</span>} <span class="by">{it.kind}</span>{" "}
          {to ? <a href={to}>{name}</a> : name}
          {it.set !== "" && it.set !== it.name && <span class="tag">{it.set}</span>}
        </p>
        <p>{it.note}</p>
        <p class="by">
          {it.by === "" ? "the object does not say by whom" : `${SOURCES[it.source]} ${it.by}`}
          {it.count > 1 && `, ${it.count} times`}
          {it.first && (
            <>
              {", first "}
              <Ago at={it.first} words />
            </>
          )}
        </p>
      </div>
    </li>
  );
}
