// Who the user is at the hub.
import type { ComponentChildren } from "preact";
import type { Way } from "../answers";
import { session } from "../api";
import { Rights } from "../rights";
import { signOut } from "../session";
import { Until } from "../time";

/** How the user has signed in, and as what the console asks the hub. */
const WAYS: Record<Way, [string, string]> = {
  code: ["by the code of the terminal", "with this user's kubeconfig"],
  token: ["with a token", "with this user's token"],
  oidc: ["at the OpenID provider", "with this user's token"],
  proxy: ["at the proxy before the console", "by impersonation"],
};

export function Me() {
  const me = session.value;
  if (!me) return null;
  const [by, as] = WAYS[me.way];
  const rows: [string, ComponentChildren][] = [
    ["User", me.user ?? "the hub does not tell"],
    ["Groups", me.groups.join(", ") || "none"],
    ["Signed in", by],
    ["Until", me.until ? <Until at={me.until} /> : "you sign out, or 12 hours without use"],
    ["Hub", me.server],
    ...(me.way === "code" ? [["Context", me.context ?? "the current one of the kubeconfig"] satisfies [string, string]] : []),
    ["Writes", me.readOnly ? "none: the console was started with --read-only" : "what your permissions allow"],
    ["Berth", me.version],
  ];
  return (
    <section>
      <header class="bar">
        <h1>You</h1>
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </header>
      <section class="card" aria-label="You at the hub">
        <dl>
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <p class="hint">The console asks the hub as this user, {as}, and has no permissions of its own.</p>
      </section>
      <Rights />
    </section>
  );
}
