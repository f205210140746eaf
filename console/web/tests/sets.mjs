// Clusters are chosen in the table and moved into a set, the set is bound to a namespace, and a cluster is labelled. Needs CONSOLE, CONSOLE_DEV (of a user who
// lacks only what the gate asks for), the clusters C1, C2 and C3, the set SET, the namespace TEAM, and LOST, which is no namespace.
import assert from "node:assert/strict";
import { env, looks, play, said, signedIn } from "./person.mjs";

const TEAM = env("TEAM");
const LOST = env("LOST");
const SET = env("SET");
const C1 = env("C1");
const C2 = env("C2");
const C3 = env("C3");
const dialog = (page) => page.getByRole("dialog");
const prod = (page) => page.getByRole("region", { name: `Set ${SET}` });

async function isRefused(page) {
  await page.getByRole("link", { name: "Clusters", exact: true }).click();
  await page.getByLabel("Search clusters").fill(C1.slice(0, -2));
  await page.getByLabel(`Choose ${C1}`).click();
  await page.getByLabel("Move into a set").selectOption(SET);
  await dialog(page).getByText(`cannot add/remove a ManagedCluster to/from ManagedClusterSet "${SET}"`).first().waitFor();
  await dialog(page).getByText("You lack the permission:").waitFor();
  await looks(page, "move-refused");
  assert.ok(await page.getByRole("button", { name: "Move now" }).isDisabled());
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await page.context().close();
}

async function moves(page) {
  await page.getByRole("link", { name: "Sets", exact: true }).click();
  await prod(page).getByText("It has no cluster.").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.getByLabel("Search clusters").fill(C1.slice(0, -2));
  await page.getByRole("link", { name: C1, exact: true }).waitFor();
  await page.waitForURL(/q=/);
  await page.getByRole("heading", { name: "Clusters" }).click();
  // By keys, and by the mouse.
  await page.keyboard.press("x");
  await page.getByLabel(`Choose ${C2}`).click();
  await said(page, "2 clusters are chosen");
  await looks(page, "chosen");
  await page.getByLabel("Move into a set").selectOption(SET);
  await dialog(page).getByText("Nothing is changed yet.").waitFor();
  await looks(page, "move");
  await page.getByRole("button", { name: "Move now" }).click();
  await dialog(page).getByText("Done:").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await page.getByText("clusters are chosen").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Sets", exact: true }).click();
  await prod(page).getByText("2 pending").waitFor();
}

async function binds(page) {
  await prod(page).getByLabel(`Namespace to bind ${SET} to`).fill(LOST);
  await prod(page).getByRole("button", { name: "Bind…", exact: true }).click();
  await dialog(page).getByRole("alert").waitFor();
  await looks(page, "bind-refused");
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await prod(page).getByLabel(`Namespace to bind ${SET} to`).fill(TEAM);
  await page.keyboard.press("Enter");
  await dialog(page).getByText("Nothing is changed yet.").waitFor();
  await page.getByRole("button", { name: "Bind now" }).click();
  await dialog(page).getByText("Done:").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await prod(page).getByRole("listitem").filter({ hasText: TEAM }).waitFor();
  await looks(page, "sets");
  await prod(page).getByRole("button", { name: `Unbind ${SET} from ${TEAM}` }).click();
  await page.getByRole("button", { name: "Unbind now" }).click();
  await dialog(page).getByText("Done:").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await prod(page).getByText("No namespace: no placement can select its clusters.").waitFor();
}

/** Several at once: what is refused of some does not hold up the others. */
async function acceptsSeveral(page) {
  await page.getByRole("link", { name: "Clusters", exact: true }).click();
  await page.getByLabel("Search clusters").fill(C1.slice(0, -2));
  await page.waitForURL(/q=/);
  for (const name of [C1, C2, C3]) await page.getByLabel(`Choose ${name}`).click();
  await page.getByRole("region", { name: "Chosen clusters" }).getByRole("button", { name: "Accept…" }).click();
  await dialog(page).getByText("Nothing is changed yet.").waitFor();
  await page.getByRole("button", { name: "Accept now" }).click();
  await dialog(page).getByText("Done:").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "3 Accepted" }).waitFor();
}

async function labels(page) {
  await page.goto(new URL(`/clusters/${C1}`, page.url()).href);
  const field = page.getByLabel(`Labels of ${C1} to set or remove`);
  await field.fill("nonsense");
  await page.getByRole("button", { name: "Change…" }).click();
  await dialog(page).getByText('"nonsense" is neither KEY=VALUE nor KEY-').waitFor();
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await field.fill("env=prod");
  await page.keyboard.press("Enter");
  await dialog(page).getByText(`managedcluster/${C1} labeled`).waitFor();
  await page.getByRole("button", { name: "Change now" }).click();
  await dialog(page).getByText("Done:").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).click();
  await page.getByRole("region", { name: "Labels" }).getByText("env", { exact: true }).waitFor();
  await looks(page, "labels");
}

await play(async () => {
  const [page, dev] = await signedIn("CONSOLE", "CONSOLE_DEV");
  await isRefused(dev);
  await moves(page);
  await binds(page);
  await acceptsSeveral(page);
  await labels(page);
});
