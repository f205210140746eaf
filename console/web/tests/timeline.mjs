// The screen Timeline. Needs CONSOLE, the address for an admin; BERTH, the executable, with KUBECONFIG of an admin; CLUSTER, a cluster that
// is accepted, and OTHER, one that is not; and CONSOLE_NOBODY, the address for a user who may read nothing.
import assert from "node:assert/strict";
import { berth, env, looks, play, said, signedIn } from "./person.mjs";

const [CLUSTER, OTHER] = [env("CLUSTER"), env("OTHER")];

async function sees(page) {
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.waitForURL(/timeline$/);
  const entries = (words) => page.getByRole("listitem").filter({ hasText: words });
  await entries("HubAcceptedManagedCluster").filter({ hasText: CLUSTER }).first().waitFor();
  const event = entries("Unavailable").filter({ hasText: CLUSTER });
  await event.getByText(/reported by klusterlet-agent, 2 times, first \d+d ago/).waitFor();
  await looks(page, "timeline");
  assert.equal(await page.getByText("since you last looked").count(), 0, "nothing was looked at before");
  // What happens appears by itself, with who did it.
  berth("taint", CLUSTER, "maintenance=yes:NoSelect");
  const written = entries("Written").filter({ hasText: "spec.taints" }).filter({ hasText: CLUSTER });
  await written.first().waitFor();
  await written.first().getByText("by berth").waitFor();

  // Elsewhere meanwhile, and back: a line says what is new.
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.waitForURL(/clusters$/);
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await said(page, "Nothing new since you last looked");
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.waitForURL(/clusters$/);
  berth("accept", OTHER, "--skip-approve-check");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await entries("HubAcceptedManagedCluster").filter({ hasText: OTHER }).first().waitFor();
  await page.getByText(/^[1-9]\d* new since you last looked/).waitFor();
  const places = await page.getByRole("listitem").evaluateAll((all) => ({
    line: all.findIndex((it) => it.classList.contains("line")),
    fresh: all.filter((it) => it.classList.contains("fresh")).length,
  }));
  assert.equal(places.line, places.fresh, "the line is below what is new");
  await looks(page, "timeline-line");
  const kept = await page.evaluate(() => [localStorage.length, sessionStorage.length]);
  assert.deepEqual(kept, [0, 0], "nothing is kept in the browser");

  // The filter is in the address.
  await page.keyboard.press("/");
  await page.waitForFunction(() => document.activeElement?.id === "search");
  await page.keyboard.type(CLUSTER);
  await page.waitForURL(new RegExp(`cluster=${CLUSTER}`));
  await page.getByLabel("Reason").selectOption("Written");
  await page.waitForURL(/reason=Written/);
  await page.waitForFunction((name) => {
    const all = [...document.querySelectorAll(".happened li:not(.line)")];
    return all.length > 0 && all.every((it) => it.textContent.includes(name) && it.textContent.includes("Written"));
  }, CLUSTER);
  await page.getByLabel("Kind").selectOption("ManagedCluster");
  await page.waitForURL(/kind=ManagedCluster/);
  await page.getByLabel("Cluster", { exact: true }).fill("nothing-is-called-so");
  await said(page, "Nothing matches.");
  await looks(page, "timeline-none");
  await page.getByRole("button", { name: /^Show all/ }).click();
  await entries("HubAcceptedManagedCluster").first().waitFor();
  assert.equal(new URL(page.url()).search, "");
  await page.close();
}

async function isRefused(page) {
  await page.goto(new URL("/timeline", page.url()).href);
  await said(page, "The hub has refused this");
  await page.close();
}

await play(async () => {
  const [page, nobody] = await signedIn("CONSOLE", "CONSOLE_NOBODY");
  await sees(page);
  await isRefused(nobody);
});
