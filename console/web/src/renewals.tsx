// The last renewals of a Lease, as far as this page has seen them: the hub keeps only the last one.
import type { LeaseAnswer } from "./answers";
import { now, span } from "./time";

/** Upper bound on the clusters whose renewals are kept, and on the renewals of each. A usual lease of a minute is seen for an hour. */
const MOST_CLUSTERS = 20;
const MOST_RENEWALS = 60;

/** The renewals that were seen, by cluster, and since when the page has looked. */
const seen = new Map<string, { since: number; at: number[] }>();

/** Remembers a renewal. Returns what was seen. */
function remember(cluster: string, renewed: number, present: number) {
  let kept = seen.get(cluster);
  if (!kept) {
    if (seen.size >= MOST_CLUSTERS) seen.delete(seen.keys().next().value ?? "");
    kept = { since: present, at: [] };
    seen.set(cluster, kept);
  }
  if (renewed > (kept.at.at(-1) ?? -Infinity)) kept.at.push(renewed);
  if (kept.at.length > MOST_RENEWALS) kept.at.shift();
  return kept;
}

/** The time from each renewal that was seen to the next one, or to the present. */
function gaps(at: number[], present: number): [number, number][] {
  return at.map((from, index) => [from, at[index + 1] ?? present]);
}

export function Renewals({ cluster, lease }: { cluster: string; lease: LeaseAnswer }) {
  if (lease.renewed === undefined) return null;
  const present = now.value;
  // To remember the same one again changes nothing, so this may happen at every drawing.
  const { since, at } = remember(cluster, Date.parse(lease.renewed), present);
  const between = gaps(at, present);
  const late = between.filter(([from, to]) => to - from > lease.graceSeconds * 1_000);
  const from = Math.min(since, at[0] ?? since);
  const shown = MOST_RENEWALS * lease.seconds * 1_000;
  const x = (time: number) => (1 - (present - Math.max(time, present - shown)) / shown) * 600;
  const longest = Math.max(0, ...between.map(([from, to]) => to - from)) / 1_000;
  const words = `${at.length} ${at.length === 1 ? "renewal" : "renewals"} seen in ${span((present - from) / 1_000)}, the longest pause ${span(longest)}.`;
  return (
    <figure class="renewals">
      <svg viewBox="0 0 600 24" preserveAspectRatio="none" role="img" aria-label={words}>
        <rect class="watched" x={x(from)} y="0" width={600 - x(from)} height="24" />
        {late.map(([from, to]) => (
          <rect key={from} class="late" x={x(from)} y="0" width={x(to) - x(from)} height="24" />
        ))}
        {at.map((time) => (
          <line key={time} x1={x(time)} x2={x(time)} y1="4" y2="20" />
        ))}
      </svg>
      <figcaption class="hint">
        The last {span(shown / 1_000)}: {words} What was before this page looked is not known: the hub keeps the last renewal only.
      </figcaption>
    </figure>
  );
}
