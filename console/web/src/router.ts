// The address of the page: each screen has one, with what is searched and sorted.
import { computed, signal } from "@preact/signals";

const address = signal(location.pathname + location.search);
addEventListener("popstate", () => (address.value = location.pathname + location.search));

export const path = computed(() => new URL(address.value, location.origin).pathname);
export const params = computed(() => new URL(address.value, location.origin).searchParams);

/** Goes to a screen. */
export function go(to: string): void {
  if (to === address.value) return;
  history.pushState(null, "", to);
  address.value = to;
  scrollTo(0, 0);
}

/** Changes what the address says of the screen, without a step of the history. */
export function change(values: Record<string, string>): void {
  const url = new URL(address.value, location.origin);
  for (const [key, value] of Object.entries(values)) {
    if (value === "") url.searchParams.delete(key);
    else url.searchParams.set(key, value);
  }
  const to = url.pathname + url.search;
  history.replaceState(null, "", to);
  address.value = to;
}

/** Goes to the target of a plain click on a link of this page. */
export function follow(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest("a");
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || link.origin !== location.origin || link.target !== "") return;
  event.preventDefault();
  go(link.pathname + link.search);
}

export const clusterPath = (name: string) => `/clusters/${encodeURIComponent(name)}`;
export const ofCluster = (name: string) => ({ name, at: `/api/clusters/${encodeURIComponent(name)}` });
export const worksPath = (q: string) => `/works?${new URLSearchParams({ q })}`;
export const workPath = (cluster: string, name: string) => `/works/${encodeURIComponent(cluster)}/${encodeURIComponent(name)}`;
export const replicaSetPath = (namespace: string, name: string) => `/replicasets/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
export const placementPath = (namespace: string, name: string) => `/placements/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;

/** The clusters that a query finds. */
export const clustersPath = (query: string) => `/clusters?${new URLSearchParams({ q: query })}`;

/** A word of a query, in quotes if it needs them. */
export const quoted = (text: string) => (/^[\w.-]+$/.test(text) ? text : `"${text}"`);
