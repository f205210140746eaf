// The YAML of an object, which is read when it is unfolded.
import { useSignal } from "@preact/signals";
import type { Failure, YamlAnswer } from "./answers";
import { call, failureOf } from "./api";
import { Wrong } from "./parts";

export function Yaml({ path, of }: { path: string; of: string }) {
  const text = useSignal<string | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const toggled = (event: Event) => {
    if (!(event.currentTarget as HTMLDetailsElement).open) return;
    call<YamlAnswer>("GET", path).then(
      (it) => (text.value = it.yaml),
      (error) => (failure.value = failureOf(error)),
    );
  };
  return (
    <details class="yaml" onToggle={toggled}>
      <summary>YAML</summary>
      {failure.value && <Wrong failure={failure.value} />}
      {text.value !== undefined && (
        <pre tabIndex={0} aria-label={`YAML of ${of}`}>
          {text.value}
        </pre>
      )}
    </details>
  );
}
