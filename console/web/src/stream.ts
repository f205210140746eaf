// One stream of events for the tab. It comes back by itself, and says since when it is away.
import { signal } from "@preact/signals";
import { call, session } from "./api";

/** The state of the stream, and since when. */
export const link = signal<{ lost: boolean; since: number }>({ lost: false, since: Date.now() });

type Handlers = Record<string, (data: never) => void>;

const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 15_000;

let close = () => {};

/** Opens the stream of a screen, in the place of the one before. Returns what closes it. */
export function open(query: Record<string, string>, handlers: Handlers): () => void {
  close();
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = FIRST_PAUSE;
  let ended = false;

  const begin = () => {
    source = new EventSource(`/api/stream?${new URLSearchParams(query)}`);
    source.onopen = () => {
      pause = FIRST_PAUSE;
      if (link.value.lost) link.value = { lost: false, since: Date.now() };
    };
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handle(JSON.parse((event as MessageEvent<string>).data) as never));
    }
    source.onerror = () => {
      // The browser's own repetition has a fixed pause, and gives up when the server refuses.
      source?.close();
      if (ended) return;
      if (!link.value.lost) link.value = { lost: true, since: Date.now() };
      timer = setTimeout(again, pause + Math.random() * pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    };
  };
  const again = async () => {
    // A stream says nothing about its refusal; this call does, and leads to the sign-in.
    try {
      await call("GET", "/api/session");
    } catch {
      if (session.value === null) return;
    }
    if (!ended) begin();
  };
  begin();
  const mine = () => {
    ended = true;
    clearTimeout(timer);
    source?.close();
  };
  close = mine;
  return mine;
}
