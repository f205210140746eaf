// All clusters: a table of which the browser holds the part that is seen. The server searches, sorts and counts.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ClusterRow, Counts, Delta, ErrorAnswer, Failure, HubAnswer, State, Window } from "../answers";
import { Bulk, MOST_CHOSEN } from "../bulk";
import { ByName } from "../by-name";
import { onKeys } from "../keys";
import { Badge, Empty, Freshness, Loading, STATES, copy } from "../parts";
import { change, clusterPath, go, params } from "../router";
import { open } from "../stream";
import { Ago } from "../time";
import { useTyped } from "../typed";

/** Height of a row, as in the style sheet. */
const ROW = 40;
/** Rows that are asked for at once. */
const COUNT = 200;

const COLUMNS: [string, string, string][] = [
  ["name", "Name", ""],
  ["state", "State", ""],
  ["since", "Since", "number"],
  ["set", "Set", "wide"],
  ["version", "Kubernetes", "wide"],
  ["cpu", "CPU", "number wider"],
  ["memory", "Memory", "number wider"],
  ["taints", "Taints", "number wider"],
  ["created", "Age", "number wide"],
];

interface Part {
  total: number;
  matched: number;
  from: number;
  rows: ClusterRow[];
  counts: Counts;
}

export function Clusters() {
  const part = useSignal<Part | undefined>(undefined);
  const hub = useSignal<HubAnswer | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const from = useSignal(0);
  const chosen = useSignal(0);
  /** Chosen for an action, by name: they stay chosen when the table changes. */
  const marked = useSignal<ReadonlySet<string>>(new Set());
  const scroller = useRef<HTMLDivElement>(null);
  const query = params.value.get("q") ?? "";
  const sort = params.value.get("sort") ?? "";

  useSignalEffect(() => {
    const asked = { screen: "clusters", q: params.value.get("q") ?? "", sort: params.value.get("sort") ?? "" };
    return open(
      { ...asked, from: String(from.value), count: String(COUNT) },
      {
        hub: (it: HubAnswer) => (hub.value = it),
        window: (it: Window) => {
          failure.value = undefined;
          part.value = it;
        },
        delta: (it: Delta) => {
          const before = new Map(part.peek()?.rows.map((row) => [row.name, row]));
          for (const row of it.rows) before.set(row.name, row);
          const rows = it.order.flatMap((name) => before.get(name) ?? []);
          part.value = { ...it, rows };
        },
        failure: (it: ErrorAnswer) => (failure.value = it.error),
      },
    );
  });

  const search = (text: string) => {
    from.value = 0;
    chosen.value = 0;
    scroller.current?.scrollTo(0, 0);
    change({ q: text });
  };
  const onScroll = () => {
    const first = Math.floor((scroller.current?.scrollTop ?? 0) / ROW);
    const has = from.peek();
    // A new part is asked for only when what is seen leaves the middle of the present one.
    if (first < has + 20 && has > 0) from.value = Math.max(0, first - COUNT / 2);
    else if (first > has + COUNT - 80) from.value = Math.max(0, first - COUNT / 4);
  };
  const row = (index: number): ClusterRow | undefined => part.value?.rows[index - (part.value?.from ?? 0)];
  const choose = (index: number) => {
    const last = (part.value?.matched ?? 1) - 1;
    chosen.value = Math.max(0, Math.min(index, last));
    const box = scroller.current;
    if (!box) return;
    const top = chosen.value * ROW;
    if (top < box.scrollTop) box.scrollTo(0, top);
    else if (top + 2 * ROW > box.scrollTop + box.clientHeight) box.scrollTo(0, top + 2 * ROW - box.clientHeight);
  };
  useEffect(
    () =>
      onKeys({
        j: () => choose(chosen.value + 1),
        k: () => choose(chosen.value - 1),
        Enter: () => {
          const name = row(chosen.value)?.name;
          if (name !== undefined) go(clusterPath(name));
        },
        c: () => void copy("berth get clusters"),
        x: () => {
          const name = row(chosen.value)?.name;
          if (name !== undefined) mark(name);
        },
      }),
    [],
  );

  const mark = (name: string) => {
    const next = new Set(marked.value);
    if (!next.delete(name) && next.size < MOST_CHOSEN) next.add(name);
    marked.value = next;
  };
  const sortBy = (field: string) => {
    const next = sort === field ? `-${field}` : sort === `-${field}` ? "" : field;
    from.value = 0;
    change({ sort: next });
  };
  const shown = part.value;
  return (
    <section class="clusters">
      <header class="bar">
        <h1>Clusters</h1>
        <Search text={query} failure={failure.value} onText={search} />
      </header>
      <Freshness hub={hub.value} />
      <ByName hub={hub.value} what="cluster" form="NAME" to={clusterPath} />
      {marked.value.size > 0 && <Bulk names={[...marked.value]} ends={() => (marked.value = new Set())} />}
      {shown && <States counts={shown.counts} query={query} onText={search} />}
      {!shown && !failure.value && hub.value?.state !== "refused" && hub.value?.state !== "away" && <Loading />}
      {shown && shown.total === 0 && (
        <Empty title="This hub has no cluster yet.">
          <p>A token and the command for the first one: berth get token</p>
        </Empty>
      )}
      {shown && shown.total > 0 && shown.matched === 0 && (
        <Empty title="No cluster matches.">
          <button type="button" onClick={() => search("")}>
            Show all {shown.total}
          </button>
        </Empty>
      )}
      {shown && shown.matched > 0 && (
        <div class="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} role="region" aria-label="Table of clusters">
          <table aria-rowcount={shown.matched + 1}>
            <thead>
              <tr aria-rowindex={1}>
                {COLUMNS.map(([field, title, look]) => (
                  <th key={field} class={look} scope="col" aria-sort={sorting(sort, field)}>
                    <button type="button" onClick={() => sortBy(field)}>
                      {title}
                      <span aria-hidden="true">{sort === field ? " ↑" : sort === `-${field}` ? " ↓" : ""}</span>
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              <Space rows={shown.from} />
              {shown.rows.map((it, index) => (
                <Row
                  key={it.name}
                  row={it}
                  index={shown.from + index}
                  chosen={chosen.value === shown.from + index}
                  marked={marked.value.has(it.name)}
                  onMark={mark}
                />
              ))}
              <Space rows={shown.matched - shown.from - shown.rows.length} />
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function sorting(sort: string, field: string): "ascending" | "descending" | "none" {
  if (sort === field || (sort === "" && field === "name")) return "ascending";
  return sort === `-${field}` ? "descending" : "none";
}

function Space({ rows }: { rows: number }) {
  if (rows <= 0) return null;
  return (
    <tr aria-hidden="true" class="space">
      <td colSpan={COLUMNS.length} style={{ height: `${rows * ROW}px` }} />
    </tr>
  );
}

interface RowProps {
  row: ClusterRow;
  index: number;
  chosen: boolean;
  marked: boolean;
  onMark: (name: string) => void;
}

function Row({ row, index, chosen, marked, onMark }: RowProps) {
  return (
    <tr aria-rowindex={index + 2} class={chosen ? "chosen" : ""}>
      <th scope="row">
        <input type="checkbox" checked={marked} onChange={() => onMark(row.name)} aria-label={`Choose ${row.name}`} />
        <a href={clusterPath(row.name)}>{row.name}</a>
        {row.cordoned && <span class="tag">cordoned</span>}
      </th>
      <td title={row.why}>
        <Badge state={row.state} />
        <span class="why">{row.why}</span>
      </td>
      <td class="number">
        <Ago at={row.since} />
      </td>
      <td class="wide">{row.set}</td>
      <td class="wide">{row.version}</td>
      <td class="number wider">{row.cpu}</td>
      <td class="number wider">{row.memory}</td>
      <td class="number wider">{row.taints || ""}</td>
      <td class="number wide">
        <Ago at={row.created} />
      </td>
    </tr>
  );
}

function Search({ text, failure, onText }: { text: string; failure: Failure | undefined; onText: (text: string) => void }) {
  const typed = useTyped(text, onText);
  return (
    <div class="search">
      <label for="search" class="hidden">
        Search clusters
      </label>
      <input
        id="search"
        type="search"
        {...typed}
        placeholder="set:prod version<1.33 !available"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={failure !== undefined}
        aria-describedby="search-help"
      />
      <p id="search-help" class={failure ? "error" : "hint"} role={failure ? "alert" : undefined}>
        {failure ? wrongAt(text, failure) : "A part of the name, a state, set:, version<, claim:KEY=VALUE or label:KEY=VALUE; ! before it means not."}
      </p>
    </div>
  );
}

function wrongAt(text: string, failure: Failure): string {
  if (failure.at === undefined) return failure.message;
  const rest = text.slice(failure.at, failure.at + 20);
  return rest === "" ? `At the end: ${failure.message}` : `At “${rest}”: ${failure.message}`;
}

/** The number of clusters in each state. Each is a filter. */
function States({ counts, query, onText }: { counts: Counts; query: string; onText: (text: string) => void }) {
  const states = Object.keys(STATES) as State[];
  const words = query.split(/\s+/).filter((it) => it !== "");
  return (
    <div class="states" role="group" aria-label="States">
      {states
        .filter((state) => counts[state] > 0 || words.includes(state))
        .map((state) => {
          const on = words.includes(state);
          const without = words.filter((it) => !states.includes(it as State));
          return (
            <button type="button" key={state} aria-pressed={on} class={`state ${state}`} onClick={() => onText((on ? without : [...without, state]).join(" "))}>
              <span class="count">{counts[state].toLocaleString()}</span> {STATES[state][0]}
            </button>
          );
        })}
    </div>
  );
}
