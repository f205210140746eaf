// The page: the frame around the screens, and which screen an address has.
import { useSignal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import type { Failure } from "./answers";
import { ended, session } from "./api";
import { Questions } from "./ask";
import { Help } from "./help";
import { onKeys } from "./keys";
import { Empty, Loading, told } from "./parts";
import { follow, go, path } from "./router";
import { HOME, SCREENS, shown } from "./screens";
import { SignIn, SignInAgain } from "./screens/signin";
import { begin } from "./session";

function Page() {
  const failure = useSignal<Failure | undefined>(undefined);
  useEffect(() => {
    const start = () => void begin().then((it) => (failure.value = it));
    // The address that the terminal prints may be opened in this tab.
    addEventListener("hashchange", start);
    start();
    return () => removeEventListener("hashchange", start);
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
          if (!document.getElementById("search")) go("/clusters");
          setTimeout(() => document.getElementById("search")?.focus());
        },
        "?": () => (help.value = true),
        ...Object.fromEntries(SCREENS.flatMap(({ key, path }) => (key ? [[`g${key}`, () => go(path)]] : []))),
      }),
    [],
  );
  const me = session.value;
  const hub = me?.context ?? me?.server;
  const [title, screen] = shown() ?? ["Not found", <Nothing />];
  useEffect(() => {
    document.title = `${title} · Berth`;
  }, [title]);
  return (
    <div onClick={follow} class="page">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        To the content
      </a>
      <nav aria-label="Screens">
        <a class="name" href={HOME}>
          Berth
        </a>
        {SCREENS.filter((it) => it.key && !it.apart).map((it) => (
          <Tab key={it.path} to={it.path} title={it.title} />
        ))}
        <span class="rest" />
        {me?.readOnly && <span class="tag">read-only</span>}
        {/* A context is often named as its user, who is shown beside it. */}
        {hub !== me?.user && (
          <span class="hub" title="The hub">
            {hub}
          </span>
        )}
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
      <Questions />
      {help.value && <Help ends={() => (help.value = false)} />}
      {ended.value && <SignInAgain />}
    </div>
  );
}

function Tab({ to, title }: { to: string; title: string }) {
  const at = path.value === "/" ? HOME : path.value;
  const here = at === to || at.startsWith(`${to}/`);
  return (
    <a href={to} aria-current={here ? "page" : undefined}>
      {title}
    </a>
  );
}

function Nothing() {
  return (
    <Empty title="There is no such page.">
      <a href={HOME}>To the first page</a>
    </Empty>
  );
}

const root = document.getElementById("app");
if (root) render(<Page />, root);
