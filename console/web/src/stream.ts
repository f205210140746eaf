// One stream of events for the tab. It comes back by itself, and says since when it is away. It is read by fetch, since an EventSource
// says nothing of why a server refuses it.
import { signal } from "@preact/signals";
import type { Failure } from "./answers";
import { Refused, failureOf, request } from "./api";
import { present } from "./time";
import { hiddenFor, visible } from "./visible";

/** The state of the stream, since when, and what the server said if it refused it. */
export const link = signal<{ lost: boolean; since: number; refused?: Failure | undefined }>({ lost: false, since: present() });

type Handlers = Record<string, (data: never) => void>;

const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 15_000;
/** The server says something every 15 seconds. */
const LONGEST_SILENCE = 40_000;
/** A tab that is hidden for longer lets its stream go: a browser has few connections to a server, and a user few streams. */
const LONGEST_HIDDEN = 20_000;

let close = () => {};

/** Opens the stream of a screen, in the place of the one before. Returns what closes it. */
export function open(query: Record<string, string>, handlers: Handlers): () => void {
  close();
  const closed = new AbortController();
  const mine = () => closed.abort();
  void follow(`/api/stream?${new URLSearchParams(query)}`, handlers, closed.signal);
  close = mine;
  return mine;
}

async function follow(path: string, handlers: Handlers, closed: AbortSignal): Promise<void> {
  let pause = FIRST_PAUSE;
  while (!closed.aborted) {
    let refused: Failure | undefined;
    await visible(closed);
    const hidden = hiddenFor(LONGEST_HIDDEN);
    try {
      await read(path, handlers, AbortSignal.any([closed, hidden.signal]), () => {
        pause = FIRST_PAUSE;
        if (link.value.lost) link.value = { lost: false, since: present() };
      });
    } catch (error) {
      if (error instanceof Refused && error.failure.code !== 0) refused = failureOf(error);
    } finally {
      hidden.end();
    }
    // It was let go. What is shown is not fresh, and nobody looks.
    if (hidden.signal.aborted) continue;
    // After the sign-out the sign-in is shown.
    if (closed.aborted || refused?.code === 401) return;
    const since = link.value.lost ? link.value.since : present();
    link.value = { lost: true, since, refused };
    await wait(pause + Math.random() * pause, closed);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

/** Reads one stream to its end. */
async function read(path: string, handlers: Handlers, closed: AbortSignal, begun: () => void): Promise<void> {
  const silence = new AbortController();
  const response = await request("GET", path, undefined, AbortSignal.any([closed, silence.signal]));
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let timer = setTimeout(() => silence.abort(), LONGEST_SILENCE);
  begun();
  let text = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), LONGEST_SILENCE);
      const events = (text + value).split("\n\n");
      text = events.pop() ?? "";
      if (!closed.aborted) events.forEach((event) => tell(event, handlers));
    }
  } finally {
    clearTimeout(timer);
  }
}

/** An event of lines such as `event: NAME` and `data: JSON`. The server writes JSON in one line. */
function tell(event: string, handlers: Handlers): void {
  const lines = event.split("\n");
  const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const [name, data] = [field("event"), field("data")];
  if (name !== undefined && data !== undefined) handlers[name]?.(JSON.parse(data) as never);
}

function wait(milliseconds: number, closed: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    closed.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
}
