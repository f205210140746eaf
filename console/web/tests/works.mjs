// What is on the clusters, what is not, and a step that is approved. Needs CONSOLE, CONSOLE_DEV, BERTH and KUBECONFIG as run.mjs does;
// the work base on the clusters C1, C2 and C3, which differs on the first two and is not applied on the third; and the replica set web of
// the namespace TEAM, which waits for an approval for C1. Its agent reports when it was approved. Other tests may have left more.
import assert from "node:assert/strict";
import { berth, env, looks, play, said, signedIn } from "./person.mjs";

const TEAM = env("TEAM");
const [C1, C2, C3] = [env("C1"), env("C2"), env("C3")];
/** What the names of the three clusters begin with. */
const ALL = C1.slice(0, -1);

const states = (page) => page.getByRole("group", { name: "States" });
const row = (page, name) => page.getByRole("row").filter({ hasText: name });

async function looksAtWorks(page) {
  const needs = page.getByRole("region", { name: "What needs you" });
  await needs.getByText(new RegExp(`^Work base of cluster ${ALL}[123] is not as prescribed`)).first().waitFor();
  await needs.getByText(new RegExp(`^The rollout of ${TEAM}/web `)).first().waitFor();
  await looks(page, "fleet-needs");
  await page.getByRole("heading", { name: "Fleet" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await page.waitForURL(/works$/);
  await page.getByText("Waits for approval").first().waitFor();
  await page.getByLabel("Search works").fill(ALL);
  await page.waitForURL(/q=/);
  // The worst first.
  await states(page).getByRole("button", { name: "1 Not applied" }).waitFor();
  const first = page.getByRole("row").nth(1);
  await first.getByText(`${C3}/base`).waitFor();
  await first.getByText('namespaces "shop" not found').waitFor();
  const group = page.getByText("deployments.apps: spec.replicas");
  await group.click();
  await said(page, "2 objects on 2 clusters, written by kubectl-edit");
  await looks(page, "works");
  await states(page).getByRole("button", { name: "2 Drifted" }).click();
  await page.waitForURL(/state=drifted/);
  await row(page, `${C3}/base`).waitFor({ state: "detached" });
  await states(page).getByRole("button", { name: "2 Drifted" }).click();
  await page.getByLabel("Search works").fill("nothing");
  await said(page, "No work matches.");
  await looks(page, "works-none");
  await page.getByLabel("Search works").fill(`${C1}/`);
  await row(page, `${C2}/base`).waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  // One work, field by field.
  await page.getByRole("link", { name: `${C1}/base` }).first().click();
  await page.waitForURL(new RegExp(`works/${C1}/base$`));
  const object = page.getByRole("article", { name: "deployments.apps shop/web" });
  const field = object.getByRole("row").filter({ hasText: "spec.replicas" });
  assert.equal((await field.innerText()).replace(/\s+/g, " "), "spec.replicas 3 5 kubectl-edit");
  await object.getByText("ReadyReplicas").waitFor();
  await page.getByText("YAML", { exact: true }).click();
  await said(page, "kind: ManifestWork");
  await looks(page, "work");
  await page.getByRole("heading", { name: "Objects" }).click();
  await page.keyboard.press("c");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `berth work diff base -n ${C1}`);
  // The cluster counts its works.
  await page.getByRole("link", { name: C1, exact: true }).click();
  const card = page.getByRole("region", { name: "Works", exact: true });
  await card.getByText("Drifted").waitFor();
  await card.getByRole("link", { name: "All its works" }).click();
  await page.waitForURL(new RegExp(`works\\?q=${C1}`));
  await row(page, `${C1}/base`).waitFor();
  await page.goto(new URL(`/works/${C1}/lost`, page.url()).href);
  await said(page, 'manifestworks.work.open-cluster-management.io "lost" not found');
}

async function rollsOut(page) {
  await page.goto(new URL("/works", page.url()).href);
  await page.getByRole("link", { name: `${TEAM}/web` }).first().click();
  await page.waitForURL(new RegExp(`replicasets/${TEAM}/web$`));
  const app = page.getByRole("article", { name: "app" });
  await app.getByText("3 waiting").waitFor();
  await app.getByText("at most 1 of the clusters at a time, each must work for 1h").waitFor();
  await looks(page, "replicaset-waits");
  await page.getByRole("button", { name: "Approve web" }).click();
  await said(page, "Nothing is changed yet.");
  await said(page, `of placement app, 1 cluster waits for an approval: ${C1}`);
  await looks(page, "approve");
  await page.getByRole("button", { name: "Approve now" }).click();
  await said(page, "Done:");
  await page.getByRole("button", { name: "Close" }).click();
  // The agent of c1 reports, and the page says so by itself.
  await app.getByText("1 on trial").waitFor();
  await app.getByText("2 waiting").waitFor();
  await app.getByText("the template works, and has to for a while").click();
  await app.getByRole("link", { name: C1 }).waitFor();
  await looks(page, "replicaset");
  await page.getByRole("button", { name: "Pause web" }).click();
  await page.getByRole("button", { name: "Pause now" }).click();
  await said(page, "manifestworkreplicaset/web paused");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByText("Paused", { exact: true }).first().waitFor();
  // Somebody else resumes it.
  berth("resume", "replicaset", "web", "-n", TEAM);
  await page.getByText("Paused", { exact: true }).first().waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Pause web" }).waitFor();
  await page.goto(new URL(`/replicasets/${TEAM}/lost`, page.url()).href);
  await said(page, 'manifestworkreplicasets.work.open-cluster-management.io "lost" not found');
}

async function isRefused(page) {
  await page.goto(new URL(`/replicasets/${TEAM}/web`, page.url()).href);
  await page.getByText("Pause: not possible").click();
  await said(page, `verb "patch" on manifestworkreplicasets in API group work.open-cluster-management.io, name "web", namespace "${TEAM}"`);
  await looks(page, "replicaset-refused");
  await page.context().close();
}

await play(async () => {
  const [page, dev] = await signedIn("CONSOLE", "CONSOLE_DEV");
  await looksAtWorks(page);
  await rollsOut(page);
  await isRefused(dev);
});
