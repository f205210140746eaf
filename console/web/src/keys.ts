// Keys. They are left alone while something is typed, and with a modifier.

type Keys = Record<string, () => void>;

const layers: Keys[] = [];
let prefix = "";

/** Gives keys a meaning until the returned function is called. A name of two letters is typed one after the other. */
export function onKeys(keys: Keys): () => void {
  layers.push(keys);
  return () => {
    const index = layers.indexOf(keys);
    if (index >= 0) layers.splice(index, 1);
  };
}

function isTyped(target: EventTarget | null): boolean {
  const element = target as Element | null;
  return element?.closest("input, textarea, select, [contenteditable]") != null;
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyped(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  // A focused button or link has the Enter key for itself.
  if (event.key === "Enter" && (event.target as Element | null)?.closest("a, button, summary")) return;
  const key = prefix + event.key;
  prefix = "";
  for (const layer of [...layers].reverse()) {
    const meaning = layer[key];
    if (!meaning) continue;
    event.preventDefault();
    meaning();
    return;
  }
  if (layers.some((layer) => Object.keys(layer).some((it) => it.length === key.length + 1 && it.startsWith(key) && it !== "Enter"))) {
    prefix = key;
  }
});
