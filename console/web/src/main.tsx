// The page: the frame around the screens, and which screen an address has.
import { useSignal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import type { Failure } from "./answers";
import { begin, session } from "./api";
import { Help } from "./help";
import { onKeys } from "./keys";
import { Empty, Loading, told } from "./parts";
import { follow, go, path } from "./router";
import { Cluster } from "./screens/cluster";
import { Clusters } from "./screens/clusters";
import { Me } from "./screens/me";
import { Requests } from "./screens/requests";
import { SignIn } from "./screens/signin";

function Page() {
  const failure = useSignal<Failure | undefined>(undefined);
  useEffect(() => {
    void begin().then((it) => (failure.value = it));
  }, []);
  if (session.value === undefined) return <Loading />;
  if (session.value === null) return <SignIn failure={failure.value} />;
  return <Frame />;
}

function Frame() {
  const help = useSignal(false);
  useEffect(
    () =>
      onKeys({
        "/": () => {
          if (path.value !== "/clusters") go("/clusters");
          setTimeout(() => document.getElementById("search")?.focus());
        },
        "?": () => (help.value = true),
        gc: () => go("/clusters"),
        gr: () => go("/requests"),
        gm: () => go("/me"),
      }),
    [],
  );
  const me = session.value;
  const [title, screen] = shown();
  useEffect(() => {
    document.title = `${title} · Berth`;
  }, [title]);
  return (
    <div onClick={follow} class="page">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        To the content
      </a>
      <nav aria-label="Screens">
        <a class="name" href="/clusters">
          Berth
        </a>
        <Tab to="/clusters" title="Clusters" />
        <Tab to="/requests" title="Requests" />
        <span class="rest" />
        {me?.readOnly && <span class="tag">read-only</span>}
        <span class="hub" title="The hub">
          {me?.context ?? me?.server}
        </span>
        <Tab to="/me" title={me?.user ?? "You"} />
        <button type="button" class="small" onClick={() => (help.value = true)} aria-label="Keys and words">
          ?
        </button>
      </nav>
      <main id="main" tabIndex={-1}>
        {screen}
      </main>
      <p class="told" role="status" aria-live="polite">
        {told.value}
      </p>
      {help.value && <Help ends={() => (help.value = false)} />}
    </div>
  );
}

function Tab({ to, title }: { to: string; title: string }) {
  const at = path.value === "/" ? "/clusters" : path.value;
  const here = at === to || at.startsWith(`${to}/`);
  return (
    <a href={to} aria-current={here ? "page" : undefined}>
      {title}
    </a>
  );
}

function shown() {
  const parts = path.value.split("/").filter((it) => it !== "");
  const name = parts[1];
  if (parts[0] === "clusters" && name !== undefined && parts.length === 2) {
    const decoded = decode(name);
    return [decoded, <Cluster name={decoded} />] as const;
  }
  if (parts.length === 0 || path.value === "/clusters") return ["Clusters", <Clusters />] as const;
  if (path.value === "/requests") return ["Requests", <Requests />] as const;
  if (path.value === "/me") return ["You", <Me />] as const;
  const nothing = (
    <Empty title="There is no such page.">
      <a href="/clusters">All clusters</a>
    </Empty>
  );
  return ["Not found", nothing] as const;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const root = document.getElementById("app");
if (root) render(<Page />, root);
