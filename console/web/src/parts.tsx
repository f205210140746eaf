// What several screens have: states, failures, commands to copy, notes.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Failure, HubAnswer, Missing, State } from "./answers";
import { ended } from "./api";
import { change, params } from "./router";
import { link } from "./stream";
import { Ago } from "./time";
import { useTyped } from "./typed";

export const STATES: Record<State, [string, string]> = {
  pending: ["Pending", "waits for an admin of the hub to accept it"],
  denied: ["Denied", "an admin of the hub has denied it"],
  accepted: ["Accepted", "accepted; its agent has not joined yet"],
  joined: ["Joined", "joined; it has not reported that it is available"],
  available: ["Available", "its agent reports that the API server works"],
  unavailable: ["Unavailable", "its agent reports that the API server does not work"],
  unknown: ["Unknown", "its agent has stopped renewing its Lease"],
  deleting: ["Deleting", "it is being removed from the hub"],
};

export function Badge({ state }: { state: State }) {
  const [word, meaning] = STATES[state];
  return (
    <span class={`badge ${state}`} title={meaning}>
      {word}
    </span>
  );
}

/** What is said of an action, for a while; also to people who do not see it. */
export const told = signal("");

let silence: ReturnType<typeof setTimeout> | undefined;

export function tell(text: string): void {
  told.value = text;
  clearTimeout(silence);
  silence = setTimeout(() => (told.value = ""), 6_000);
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(`Copied: ${text}`);
  } catch {
    tell(`It cannot be copied: ${text}`);
  }
}

export function Command({ text }: { text: string }) {
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="small" onClick={() => copy(text)} aria-label={`Copy: ${text}`}>
        Copy
      </button>
    </span>
  );
}

export function Lacking({ missing }: { missing: Missing }) {
  return (
    <>
      <p>You lack the permission: {missing.permission}</p>
      {missing.role && <p>The role {missing.role} has it. An admin grants it by:</p>}
      <Command text={missing.command} />
    </>
  );
}

export function Wrong({ failure }: { failure: Pick<Failure, "message" | "remedy" | "missing"> }) {
  return (
    <div class="wrong" role="alert">
      <p>
        <strong>{failure.message}</strong>
      </p>
      {failure.missing ? <Lacking missing={failure.missing} /> : failure.remedy && <p>{failure.remedy}</p>}
    </div>
  );
}

export function Notes({ notes }: { notes: string[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="notes">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

/** With a capital letter and a full stop. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");
}

/** Says what is not fresh, and since when. Nothing if all is well. */
export function Freshness({ hub }: { hub: HubAnswer | undefined }) {
  if (ended.value) return null;
  const refused = link.value.refused;
  if (refused) {
    return (
      <div class="banner" role="status">
        <strong>
          The console has refused this for <Ago at={new Date(link.value.since).toISOString()} />.
        </strong>{" "}
        {refused.message}
        {refused.remedy && <p>{refused.remedy}</p>}
      </div>
    );
  }
  if (link.value.lost) {
    return (
      <div class="banner" role="status">
        The console has not answered for <Ago at={new Date(link.value.since).toISOString()} />. What you see is from then. It tries again
        by itself.
      </div>
    );
  }
  if (!hub || hub.state === "connected" || hub.state === "loading") return null;
  const lead = hub.state === "refused" ? "The hub has refused this" : "The hub has been away";
  return (
    <div class="banner" role="status">
      <strong>
        {lead} for <Ago at={hub.since} />.
      </strong>{" "}
      {hub.message}
      {hub.missing ? <Lacking missing={hub.missing} /> : hub.remedy && <p>{sentence(hub.remedy)}</p>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading() {
  if (link.value.lost) return null;
  return (
    <p class="loading" role="status">
      Reading from the hub…
    </p>
  );
}

/** The way back to a list. */
export function Crumb({ to, title }: { to: string; title: string }) {
  return (
    <p class="crumb">
      <a href={to}>{title}</a>
    </p>
  );
}

/** A text that the address keeps as q. */
export function Filter({ label, hint }: { label: string; hint: string }) {
  const typed = useTyped(params.value.get("q") ?? "", (q) => change({ q }));
  return (
    <div class="search">
      <input id="search" type="search" aria-label={label} {...typed} autocomplete="off" spellcheck={false} placeholder={hint} />
    </div>
  );
}
