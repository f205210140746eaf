// Why a placement selects its clusters, what a changed one would select, and the change. Needs CONSOLE, CONSOLE_DEV, BERTH and
// KUBECONFIG as run.mjs does, and the placement app of the namespace TEAM, which selects one of three clusters, with C1 and C3, of a set.
import assert from "node:assert/strict";
import { berth, env, looks, play, said, signedIn } from "./person.mjs";

const TEAM = env("TEAM");
const C1 = env("C1");
const C3 = env("C3");
const ELSEWHERE = env("ELSEWHERE");
const steps = (page) => page.getByRole("list", { name: "Steps of the selection" }).first();
const results = (page) => page.getByRole("group", { name: "Results" });

async function asksWhy(page) {
  await page.getByRole("link", { name: "Placements", exact: true }).click();
  await page.getByRole("row").filter({ hasText: `${TEAM}/app` }).getByText("Satisfied").waitFor();
  await looks(page, "placements");
  await page.getByLabel("Search placements").fill("nothing");
  await said(page, "No placement matches.");
  await page.getByLabel("Search placements").fill("app");
  await page.getByRole("link", { name: `${TEAM}/app` }).click();
  await page.waitForURL(new RegExp(`placements/${TEAM}/app$`));
  await steps(page).getByText(/in none of them/).waitFor();
  await steps(page).getByText("2 clusters rank behind: 1 is wanted").waitFor();
  await results(page).getByRole("button", { name: /in no set/ }).waitFor();
  await looks(page, "placement");
  await results(page).getByRole("button", { name: /in no set/ }).click();
  await page.waitForURL(/result=NotInSets/);
  await page.getByRole("link", { name: ELSEWHERE }).waitFor();
  await page.getByRole("link", { name: C1 }).waitFor({ state: "detached" });
  await results(page).getByRole("button", { name: /in no set/ }).click();
  await page.keyboard.press("c");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `berth placement explain app -n ${TEAM}`);
}

async function asksWhatIf(page) {
  await page.getByRole("button", { name: "What if…" }).click();
  const yaml = page.getByLabel("The placement, to be changed");
  const before = await yaml.inputValue();
  await said(page, "No cluster comes, none goes, 1 stays.");
  await yaml.fill(before.replace("numberOfClusters: 1", "numberOfClusters: 2"));
  await said(page, "1 cluster comes, none goes, 1 stays.");
  await looks(page, "what-if");
  await yaml.fill(before.replace("numberOfClusters: 1", "numberOfCluster: 2"));
  await said(page, 'spec.numberOfCluster: unknown field; did you mean "numberOfClusters"?');
  assert.ok(await page.getByRole("button", { name: "Replace…" }).isDisabled());
  await yaml.fill("a: [");
  await said(page, "not YAML");
  await looks(page, "what-if-wrong");
  await yaml.fill(before.replace("numberOfClusters: 1", "numberOfClusters: 2"));
  // What others change meanwhile takes nothing away that was typed.
  berth("cordon", C3);
  await results(page).getByRole("button", { name: "1 tainted" }).waitFor();
  assert.match(await yaml.inputValue(), /numberOfClusters: 2/);
  await page.getByRole("button", { name: "Replace…" }).click();
  await said(page, "Nothing is changed yet.");
  await looks(page, "replace");
  await page.getByRole("button", { name: "Replace now" }).click();
  await said(page, `Placement "app" in namespace ${TEAM} replaced`);
  await steps(page).getByText("1 cluster has a taint that it does not tolerate").waitFor();
  await results(page).getByRole("button", { name: "2 selected" }).waitFor();
  berth("uncordon", C3);
  await results(page).getByRole("button", { name: "1 ranked out" }).waitFor();
}

/** The cluster says which placements select it. */
async function isPlaced(page) {
  await page.getByRole("row").filter({ hasText: C1 }).getByRole("link", { name: C1 }).click();
  await page.getByRole("region", { name: "Placements" }).getByRole("link", { name: `${TEAM}/app` }).waitFor();
  await looks(page, "cluster-placed");
  await page.goBack();
  await page.waitForURL(new RegExp(`placements/${TEAM}/app`));
}

/** Somebody else has changed it since the page has read it. */
async function isLate(page) {
  await page.getByRole("button", { name: "What if…" }).click();
  const yaml = page.getByLabel("The placement, to be changed");
  const old = (await yaml.inputValue()).replace(/resourceVersion: .*/, 'resourceVersion: "1"');
  await yaml.fill(old.replace("numberOfClusters: 2", "numberOfClusters: 3"));
  await page.getByRole("button", { name: "Replace…" }).click();
  await said(page, "somebody else has changed the object");
  await page.getByRole("button", { name: "Close" }).click();
}

async function isRefused(page) {
  await page.goto(new URL(`/placements/${TEAM}/app`, page.url()).href);
  await page.getByRole("button", { name: "What if…" }).click();
  await page.getByText("Replace: not possible").click();
  await said(page, `verb "update" on placements in API group cluster.open-cluster-management.io, namespace "${TEAM}"`);
  await looks(page, "what-if-refused");
  // A placement that does not exist.
  await page.goto(new URL(`/placements/${TEAM}/lost`, page.url()).href);
  await said(page, `placements.cluster.open-cluster-management.io "lost" not found in namespace "${TEAM}"`);
  await page.context().close();
}

await play(async () => {
  const [page, dev] = await signedIn("CONSOLE", "CONSOLE_DEV");
  await asksWhy(page);
  await asksWhatIf(page);
  await isPlaced(page);
  await isLate(page);
  await isRefused(dev);
});
