// Actions that a screen offers, and what the user lacks for the others.
import type { Act, Offer } from "./answers";
import { ask } from "./ask";
import { Lacking } from "./parts";

const WORDS: Record<Act, [string, string]> = {
  accept: ["Accept", "primary"],
  deny: ["Deny", "danger"],
  denyNow: ["Deny now", "danger"],
  cordon: ["Cordon", ""],
  uncordon: ["End the cordon", ""],
  pause: ["Pause", ""],
  resume: ["Resume", "primary"],
  approve: ["Approve", "primary"],
};

/** An object, and the route of its actions. */
interface Of {
  name: string;
  at: string;
}

export function Actions({ of, offers }: { of: Of; offers: Offer[] }) {
  return (
    <div class="actions">
      {offers.map((offer) => (
        <Action key={offer.act} of={of} offer={offer} />
      ))}
    </div>
  );
}

function Action({ of, offer }: { of: Of; offer: Offer }) {
  const [word, look] = WORDS[offer.act];
  if (!offer.allowed) {
    return (
      <details class="refused">
        <summary>{word}: not possible</summary>
        {offer.missing ? <Lacking missing={offer.missing} /> : <p>{offer.why}</p>}
      </details>
    );
  }
  const asked = [{ name: of.name, path: `${of.at}/${offer.act}` }];
  return (
    <button type="button" class={look} onClick={() => ask({ title: `${word}: ${of.name}`, word, look, asked })} aria-label={`${word} ${of.name}`}>
      {word}…
    </button>
  );
}
