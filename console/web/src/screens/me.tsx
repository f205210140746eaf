// Who the user is at the hub.
import { session, signOut } from "../api";
import { Command } from "../parts";

export function Me() {
  const me = session.value;
  if (!me) return null;
  const rows: [string, string][] = [
    ["User", me.user ?? "the hub does not tell"],
    ["Groups", me.groups.join(", ") || "none"],
    ["Hub", me.server],
    ["Context", me.context ?? "the current one of the kubeconfig"],
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
        <p class="hint">The console asks the hub as this user, with this user's kubeconfig, and has no permissions of its own. May you do something?</p>
        <Command text="berth can-i accept NAME" />
      </section>
    </section>
  );
}
