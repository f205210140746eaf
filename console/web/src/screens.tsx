// The screens: the address of each, its tab and key, and what it shows.
import type { VNode } from "preact";
import { path } from "./router";
import { Cluster } from "./screens/cluster";
import { Clusters } from "./screens/clusters";
import { Fleet } from "./screens/fleet";
import { Health } from "./screens/health";
import { Me } from "./screens/me";
import { Placement } from "./screens/placement";
import { Placements } from "./screens/placements";
import { ReplicaSet } from "./screens/replicaset";
import { Requests } from "./screens/requests";
import { Sets } from "./screens/sets";
import { Work } from "./screens/work";
import { Works } from "./screens/works";
import { Timeline } from "./screens/timeline";

interface Screen {
  /** Parts that begin with a colon are names. */
  path: string;
  /** Its title, if it has no name. */
  title: string;
  /** The key after g. Screens with one have a tab. */
  key?: string;
  /** It has its own place in the frame. */
  apart?: boolean;
  show: (...names: string[]) => VNode;
}

export const SCREENS: Screen[] = [
  { path: "/fleet", title: "Fleet", key: "f", show: () => <Fleet /> },
  { path: "/clusters", title: "Clusters", key: "c", show: () => <Clusters /> },
  { path: "/clusters/:name", title: "Cluster", show: (name = "") => <Cluster name={name} /> },
  { path: "/requests", title: "Requests", key: "r", show: () => <Requests /> },
  { path: "/sets", title: "Sets", key: "s", show: () => <Sets /> },
  { path: "/placements", title: "Placements", key: "p", show: () => <Placements /> },
  { path: "/placements/:namespace/:name", title: "Placement", show: (namespace = "", name = "") => <Placement namespace={namespace} name={name} /> },
  { path: "/works", title: "Works", key: "w", show: () => <Works /> },
  { path: "/works/:cluster/:name", title: "Work", show: (cluster = "", name = "") => <Work cluster={cluster} name={name} /> },
  { path: "/replicasets/:namespace/:name", title: "Replica set", show: (namespace = "", name = "") => <ReplicaSet namespace={namespace} name={name} /> },
  { path: "/health", title: "Health", key: "h", show: () => <Health /> },
  { path: "/timeline", title: "Timeline", key: "t", show: () => <Timeline /> },
  { path: "/me", title: "You", key: "m", apart: true, show: () => <Me /> },
];

/** The screen of `/`. */
export const HOME = "/fleet";

/** The title and the screen of the address. */
export function shown(): [string, VNode] | undefined {
  const at = parts(path.value === "/" ? HOME : path.value);
  for (const screen of SCREENS) {
    const of = parts(screen.path);
    if (of.length !== at.length || !of.every((it, index) => it.startsWith(":") || it === at[index])) continue;
    const names = at.filter((_, index) => of[index]?.startsWith(":")).map(decode);
    return [names.at(-1) ?? screen.title, screen.show(...names)];
  }
  return undefined;
}

const parts = (path: string) => path.split("/").filter((it) => it !== "");

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
