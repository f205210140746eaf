// Whether the user sees the tab.

/** Aborts once the tab was hidden for this long. `end` stops looking. */
export function hiddenFor(milliseconds: number): { signal: AbortSignal; end: () => void } {
  const long = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => long.abort(), milliseconds);
  };
  document.addEventListener("visibilitychange", look);
  look();
  const end = () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
  return { signal: long.signal, end };
}

/** Returns once the tab is visible, or this is aborted. */
export function visible(closed: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const look = () => {
      if (document.hidden && !closed.aborted) return;
      document.removeEventListener("visibilitychange", look);
      closed.removeEventListener("abort", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
    closed.addEventListener("abort", look);
    look();
  });
}
