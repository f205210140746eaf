// Times: how long ago, and the moment itself when pointed at.
import { signal } from "@preact/signals";

/** By how many milliseconds the server's clock is ahead of the browser's. */
let ahead = 0;

/** The present, by the server's clock. */
export function present(): number {
  return Date.now() + ahead;
}

/** The present, to the second. */
export const now = signal(present());
setInterval(() => (now.value = present()), 1_000);

/** Differences below it are none: a response says its time in whole seconds, and was under way. */
const SMALLEST = 3_000;

/** What a response says of the server's clock. `sent`: when it was asked for. */
export function heard(date: string | null, sent: number): void {
  const there = Date.parse(date ?? "") + 500;
  if (Number.isNaN(there)) return;
  const passed = Date.now() - sent;
  // The computer may have slept meanwhile.
  if (passed > 10_000) return;
  const by = there - (sent + passed / 2);
  const next = Math.abs(by) < SMALLEST + passed / 2 ? 0 : by;
  if (Math.abs(next - ahead) < SMALLEST) return;
  ahead = next;
  now.value = present();
}

const UNITS: [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
];

/** Such as 5m, 3h or 2d, as kubectl shows ages. */
export function span(seconds: number): string {
  const past = Math.max(0, Math.floor(seconds));
  const [size, unit] = UNITS.find(([size]) => past >= 2 * size) ?? [1, "s"];
  return `${Math.floor(past / size)}${unit}`;
}

export function Ago({ at, words = false }: { at: string | undefined; words?: boolean }) {
  if (at === undefined) return null;
  const moment = new Date(at);
  const passed = (now.value - moment.getTime()) / 1_000;
  return (
    <time dateTime={at} title={moment.toLocaleString()}>
      {span(passed)}
      {words ? " ago" : ""}
    </time>
  );
}

/** How long until then; nothing once it is past. */
export function Until({ at }: { at: string | undefined }) {
  if (at === undefined) return null;
  const moment = new Date(at);
  const left = (moment.getTime() - now.value) / 1_000;
  return (
    <time dateTime={at} title={moment.toLocaleString()}>
      {left > 0 ? `in ${span(Math.ceil(left))}` : "now"}
    </time>
  );
}
