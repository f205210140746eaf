// The story of README.md on a running `berth demo`, as its hub admin ada and as its developer dev: a cluster asks to join, is accepted, put into a set, selected by a
// placement, falls silent, comes back, gets a work that is changed there and put back, and is denied. Its agent really runs. Needs CONSOLE (of ada), CONSOLE_DEV,
// BERTH, KUBECTL and KUBECONFIG of the demo, and DEMO_STDIN, a file that is the standard input of the demo.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { berth, env, looks, play, said, signedIn } from "./person.mjs";

const GUEST = "c3";
/** The permission to accept or deny it, in the words of `berth can-i`. */
const MAY_ACCEPT = `verb "update" (or "create") on managedclusters/accept in API group register.open-cluster-management.io, name "${GUEST}"`;
const dialog = (page) => page.getByRole("dialog");
const tile = (page, words) => page.getByRole("list", { name: "Clusters by state" }).getByRole("link", { name: words });
const badge = (page, words) => page.getByRole("heading", { level: 1 }).getByText(words, { exact: true });
const results = (page) => page.getByRole("group", { name: "Results" });
const stages = (page, words) => page.getByRole("article", { name: "app" }).getByText(words, { exact: true });

/** Types a line into the terminal of the demo. */
const type = (line) => appendFileSync(env("DEMO_STDIN"), `${line}\n`);
const kubectl = (...args) => execFileSync(env("KUBECTL"), ["--request-timeout=20s", ...args], { encoding: "utf8" });
const greeting = (cluster) => kubectl("--context", cluster, "get", "configmap", "greeting", "-n", "default", "-o", "jsonpath={.data.text}");
const goes = (page, path) => page.goto(new URL(path, page.url()).href);

/** From here on the page is not loaded anew: what appears, appears by itself. */
const stays = (page) => page.evaluate(() => (globalThis.same = true));
async function stayed(page) {
  assert.equal(await page.evaluate(() => globalThis.same), true, "the page was loaded anew");
}

/** Presses an action, looks at its dry run, and does it. */
async function acts(page, action, word, name) {
  await page.getByRole("button", { name: action, exact: true }).click();
  await dialog(page).getByText("Nothing is changed yet.").waitFor();
  await looks(page, name);
  await dialog(page).getByRole("button", { name: `${word} now` }).click();
  await dialog(page).getByText("Done:").waitFor();
  await dialog(page).getByRole("button", { name: "Close" }).click();
}

async function asksToJoin(ada, dev) {
  await tile(ada, /^1 Pending/).waitFor();
  await ada.getByRole("region", { name: "What needs you" }).getByText(`${GUEST} waits to be accepted`).waitFor();
  await looks(ada, "story-fleet");
  await goes(ada, `/clusters/${GUEST}`);
  await badge(ada, "Pending").waitFor();
  await looks(ada, "story-pending");
  await goes(dev, `/clusters/${GUEST}`);
  await badge(dev, "Pending").waitFor();
  await dev.getByText("Accept: not possible").click();
  await said(dev, MAY_ACCEPT);
  await said(dev, `berth can-i accept ${GUEST} --as dev -o yaml | kubectl apply -f -`);
  await looks(dev, "story-accept-refused");
  await goes(ada, "/requests");
  await ada.getByRole("article", { name: GUEST }).getByText("system:bootstrappers:managedcluster").waitFor();
  await looks(ada, "story-requests");
}

async function isAccepted(ada) {
  await acts(ada, `Accept ${GUEST}`, "Accept", "story-accept");
  await goes(ada, `/clusters/${GUEST}`);
  await badge(ada, "Available").waitFor();
  await ada.getByRole("region", { name: "Claims" }).getByText("region.example.com").waitFor();
  // Events are read once: the agent may report the first one later.
  await ada.getByRole("region", { name: "Events" }).locator("ul li, .none").first().waitFor();
  assert.equal(await ada.getByText("cannot be shown").count(), 0, "ada sees all of it");
  await looks(ada, "story-cluster");
}

/** Chooses the guest, and asks what its move into the set prod would do. */
async function moves(page) {
  await goes(page, `/clusters?q=${GUEST}`);
  await page.getByLabel(`Choose ${GUEST}`).click();
  await page.getByLabel("Move into a set").selectOption("prod");
}

async function isPutIntoASet(ada, dev) {
  await moves(dev);
  await dialog(dev).getByText('user "dev" cannot add/remove a ManagedCluster to/from ManagedClusterSet').first().waitFor();
  await dialog(dev).getByText("You lack the permission:").waitFor();
  await looks(dev, "story-move-refused");
  await dialog(dev).getByRole("button", { name: "Cancel" }).click();
  await moves(ada);
  await dialog(ada).getByText("Nothing is changed yet.").waitFor();
  await dialog(ada).getByRole("button", { name: "Move now" }).click();
  await dialog(ada).getByText("Done:").waitFor();
  await dialog(ada).getByRole("button", { name: "Close" }).click();
  await goes(ada, "/sets");
  await ada.getByRole("region", { name: "Set prod" }).getByText("2 available").waitFor();
  await looks(ada, "story-sets");
}

async function asksWhatIf(page) {
  await page.getByRole("button", { name: "What if…" }).click();
  const yaml = page.getByLabel("The placement, to be changed");
  await yaml.fill((await yaml.inputValue()).replace("numberOfClusters: 1", "numberOfClusters: 2"));
  await said(page, "1 cluster comes, none goes, 1 stays.");
}

async function isPlaced(ada, dev) {
  await goes(ada, "/placements/team-a/app");
  await asksWhatIf(ada);
  await looks(ada, "story-what-if");
  await ada.getByText("Replace: not possible").click();
  await said(ada, 'verb "update" on placements in API group cluster.open-cluster-management.io, namespace "team-a"');
  await looks(ada, "story-replace-refused");
  await ada.getByRole("button", { name: "Close" }).click();
  await stays(ada);
  // dev may not list the placements of all namespaces, and may read this one.
  await dev.getByRole("link", { name: "Placements", exact: true }).click();
  await said(dev, "open-cluster-management:berth:console-reader is one.");
  await looks(dev, "story-placements-refused");
  await dev.getByLabel("The placement to open").fill("team-a/app");
  await dev.getByRole("button", { name: "Open", exact: true }).click();
  await dev.waitForURL(/placements\/team-a\/app$/);
  await asksWhatIf(dev);
  await dev.getByRole("button", { name: "Replace…" }).click();
  await said(dev, "Nothing is changed yet.");
  await looks(dev, "story-replace");
  await dev.getByRole("button", { name: "Replace now" }).click();
  await results(dev).getByRole("button", { name: "2 selected" }).waitFor();
  // ada sees what dev has done.
  await results(ada).getByRole("button", { name: "2 selected" }).waitFor();
  await stayed(ada);
  await goes(ada, "/replicasets/team-a/app");
  await stages(ada, "2 done").waitFor();
  assert.equal(greeting(GUEST), "hello");
}

/** The agent stops, and the pages of both say so by themselves. */
async function fallsSilent(ada, dev) {
  await goes(ada, `/clusters/${GUEST}`);
  await badge(ada, "Available").waitFor();
  await stays(ada);
  await stays(dev);
  type(`stop ${GUEST}`);
  await badge(ada, "Unknown").waitFor();
  await ada.getByRole("region", { name: "Taints" }).getByText("cluster.open-cluster-management.io/unreachable: NoSelect").waitFor();
  await looks(ada, "story-unknown");
  await results(dev).getByRole("button", { name: "1 tainted" }).waitFor();
  await looks(dev, "story-tainted");
  type(`start ${GUEST}`);
  await badge(ada, "Available").waitFor();
  await results(dev).getByRole("button", { name: "2 selected" }).waitFor();
  await stayed(ada);
  await stayed(dev);
  await goes(ada, "/replicasets/team-a/app");
  await stages(ada, "2 done").waitFor();
}

/** The admin of c1 holds the work, so that what is changed there is seen before it is put back. */
async function isPutBack(ada) {
  await goes(ada, "/works");
  await ada.getByRole("group", { name: "States" }).getByRole("button", { name: "2 As prescribed" }).waitFor();
  await stays(ada);
  berth("--context", "c1", "work", "hold", "app", "--writes=all");
  kubectl("--context", "c1", "patch", "configmap", "greeting", "-n", "default", "--type=merge", "-p", '{"data":{"text":"changed by hand"}}');
  await ada.getByRole("group", { name: "States" }).getByRole("button", { name: "1 Drifted" }).waitFor();
  await said(ada, "configmaps: data.text");
  await looks(ada, "story-works");
  await ada.getByRole("link", { name: "c1/app" }).first().click();
  const object = ada.getByRole("article", { name: "configmaps default/greeting" });
  const field = object.getByRole("row").filter({ hasText: "data.text" });
  await field.waitFor();
  assert.equal((await field.innerText()).replace(/\s+/g, " "), 'data.text "hello" "changed by hand" kubectl-patch');
  await said(ada, "set by field manager berth: nothing is written to the cluster; at the cluster, berth work release app ends it");
  await looks(ada, "story-work");
  berth("--context", "c1", "work", "release", "app");
  await badge(ada, "As prescribed").waitFor();
  await object.getByText("As prescribed").waitFor();
  await stayed(ada);
  assert.equal(greeting("c1"), "hello");
}

async function rollsOut(ada, dev) {
  await goes(ada, "/replicasets/team-a/app");
  await ada.getByText("Pause: not possible").click();
  await said(ada, 'verb "patch" on manifestworkreplicasets in API group work.open-cluster-management.io, name "app", namespace "team-a"');
  await looks(ada, "story-pause-refused");
  await stays(ada);
  await goes(dev, "/replicasets/team-a/app");
  await acts(dev, "Pause app", "Pause", "story-pause");
  const text = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "greeting", namespace: "default" }, data: { text: "hello again" } };
  const template = { spec: { manifestWorkTemplate: { workload: { manifests: [text] } } } };
  kubectl("--context", "dev", "patch", "manifestworkreplicaset", "app", "-n", "team-a", "--type=merge", "-p", JSON.stringify(template));
  await badge(ada, "Paused").waitFor();
  await stages(ada, "2 waiting").waitFor();
  await looks(ada, "story-paused");
  assert.deepEqual([greeting("c1"), greeting(GUEST)], ["hello", "hello"]);
  await acts(dev, "Resume app", "Resume", "story-resume");
  await badge(ada, "Complete").waitFor();
  await stages(ada, "2 done").waitFor();
  await stayed(ada);
  assert.deepEqual([greeting("c1"), greeting(GUEST)], ["hello again", "hello again"]);
}

async function isDenied(ada, dev) {
  await goes(dev, `/clusters/${GUEST}`);
  await badge(dev, "Available").waitFor();
  await dev.getByText("Deny: not possible").click();
  await said(dev, MAY_ACCEPT);
  await stays(dev);
  await goes(ada, `/clusters/${GUEST}`);
  await acts(ada, `Deny ${GUEST}`, "Deny", "story-deny");
  await badge(ada, "Denied").waitFor();
  await badge(dev, "Denied").waitFor();
  await stayed(dev);
  await looks(ada, "story-denied");
  await goes(ada, "/timeline");
  const denied = ada.getByRole("listitem").filter({ hasText: "HubAcceptedManagedCluster" }).filter({ hasText: GUEST });
  await denied.first().waitFor();
  await looks(ada, "story-timeline");
}

await play(async () => {
  const [ada, dev] = await signedIn("CONSOLE", "CONSOLE_DEV");
  await asksToJoin(ada, dev);
  await isAccepted(ada);
  await isPutIntoASet(ada, dev);
  await isPlaced(ada, dev);
  await fallsSilent(ada, dev);
  await isPutBack(ada);
  await rollsOut(ada, dev);
  await isDenied(ada, dev);
});
