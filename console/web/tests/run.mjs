// Plays the console in a browser, as a person would. It is started by a test of cargo (tests/admin/console), which has the hub and the
// consoles; alone it needs:
//   CONSOLE       the address that berth console printed, for a user who may do everything
//   CONSOLE_DEV   the same, for a user who may read, and accept nothing
//   CONSOLE_ENDS  the same as CONSOLE, of a console with the process id CONSOLE_ENDS_PID, which is ended
//   BERTH         the executable, with KUBECONFIG of an admin
//   PENDING       a cluster that waits to be accepted
//   SHOTS         optional: a folder for pictures of each screen
import assert from "node:assert/strict";
import { berth, env, looks, play, said, signedIn, tab } from "./person.mjs";

const PENDING = env("PENDING");

/** Until the table has this cluster, and no other one. */
async function isAlone(page, name) {
  await page.waitForFunction((name) => {
    const rows = [...document.querySelectorAll("tbody tr[aria-rowindex]")];
    return rows.length === 1 && rows[0].textContent.includes(name);
  }, name);
}

async function signsIn() {
  const page = await tab();
  const address = new URL(env("CONSOLE"));
  await page.goto(address.origin);
  await said(page, "One-time code");
  await looks(page, "sign-in");
  await page.getByLabel("One-time code").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.goto("about:blank");
  await page.goto(address.href);
  await page.getByRole("heading", { name: "Fleet" }).waitFor();
  assert.equal(new URL(page.url()).hash, "", "the code is out of the address");
  const kept = await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length]);
  assert.deepEqual(kept, ["", 0, 0], "no script can read the session");
  return page;
}

/** The fleet says that the cluster waits, or counts it. */
async function seesTheFleet(page) {
  await page.getByRole("list", { name: "Clusters by state" }).getByRole("link", { name: /Pending/ }).waitFor();
  await page.getByRole("region", { name: "What needs you" }).getByText(/waits? to be accepted/).first().waitFor();
  await looks(page, "fleet");
}

async function findsClusters(page) {
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.getByRole("region", { name: "Table of clusters" }).waitFor();
  await looks(page, "clusters");
  // By keys alone: search, choose, open, and back.
  await page.keyboard.press("/");
  await page.keyboard.type("set:");
  await page.getByRole("alert").waitFor();
  await page.keyboard.press("Control+A");
  await page.keyboard.type(`${PENDING} pending`);
  await page.waitForURL(/q=/);
  await isAlone(page, PENDING);
  await page.getByLabel("Search clusters").fill("nothing-is-called-so");
  await said(page, "No cluster matches.");
  await looks(page, "clusters-none");
  await page.getByRole("button", { name: /^Show all/ }).click();
  await page.getByLabel("Search clusters").fill(PENDING);
  await isAlone(page, PENDING);
  await page.getByRole("heading", { name: "Clusters" }).click();
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`/clusters/${PENDING}$`));
  await page.goBack();
  await page.waitForURL(/q=/);
  await page.keyboard.press("?");
  await said(page, "States of a cluster");
  await looks(page, "help");
  await page.keyboard.press("Escape");
}

async function accepts(page) {
  await page.goto(new URL(`/clusters/${PENDING}`, page.url()).href);
  await page.getByRole("heading", { name: "Registration" }).waitFor();
  await page.getByText("Pending", { exact: true }).first().waitFor();
  await looks(page, "cluster-pending");
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.waitForURL(/requests$/);
  await page.getByRole("article", { name: PENDING }).waitFor();
  await looks(page, "requests");
  await page.getByRole("button", { name: `Accept ${PENDING}` }).click();
  await said(page, "Nothing is changed yet.");
  await looks(page, "accept");
  await page.getByRole("button", { name: "Accept now" }).click();
  await said(page, "Done:");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("article", { name: PENDING }).waitFor({ state: "detached" });
}

/** Ages are by the server's clock. */
async function hasAWrongClock(page) {
  for (const hours of [2, -2]) {
    const wrong = await page.context().newPage();
    wrong.setDefaultTimeout(60_000);
    await wrong.clock.install({ time: Date.now() + hours * 3_600_000 });
    await wrong.goto(new URL("/requests", page.url()).href);
    await wrong.getByRole("article", { name: PENDING }).waitFor();
    // The request was sent some seconds before, and less than an hour.
    await wrong.waitForFunction((name) => {
      const ages = [...document.querySelectorAll(`article[aria-label="${name}"] time`)].map((it) => it.textContent);
      return ages.length > 0 && ages.every((it) => /^([1-9]\d*s|[1-5]?\dm)\b/.test(it));
    }, PENDING);
    await wrong.close();
  }
}

/** What others change is seen without a reload. */
async function follows(page) {
  await page.goto(new URL(`/clusters/${PENDING}`, page.url()).href);
  await page.getByText("Accepted", { exact: true }).first().waitFor();
  berth("cordon", PENDING);
  await page.getByText("cordoned", { exact: true }).first().waitFor();
  await page.getByText("YAML", { exact: true }).click();
  await said(page, "kind: ManagedCluster");
  await looks(page, "cluster-accepted");
  berth("uncordon", PENDING);
  await page.getByText("cordoned", { exact: true }).first().waitFor({ state: "detached" });
  await page.keyboard.press("c");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `berth get clusters ${PENDING} -o yaml`);
  // The stream breaks, and comes back by itself.
  await page.route("**/api/stream*", (route) => route.abort());
  await page.getByRole("link", { name: "Clusters", exact: true }).first().click();
  await said(page, "The console has not answered for");
  await looks(page, "away");
  await page.unroute("**/api/stream*");
  await page.getByText("The console has not answered for").waitFor({ state: "detached" });
  await page.getByLabel("Search clusters").fill(PENDING);
  await isAlone(page, PENDING);
}

/** The console ends: what was seen stays, with the words that it is not fresh. */
async function ends(page) {
  await page.getByRole("link", { name: "Clusters", exact: true }).first().click();
  await page.getByLabel("Search clusters").fill(PENDING);
  await isAlone(page, PENDING);
  process.kill(Number(env("CONSOLE_ENDS_PID")));
  await said(page, "The console has not answered for");
  await page.getByRole("link", { name: PENDING, exact: true }).waitFor();
  await page.context().close();
}

/** A session has few streams. A tab that nobody sees lets its own go, and comes back by itself when it is seen again. */
async function hasManyTabs(page) {
  const at = new URL("/clusters", page.url()).href;
  const tabs = [];
  for (let count = 0; count < 5; count += 1) {
    const another = await page.context().newPage();
    another.setDefaultTimeout(60_000);
    await another.clock.install();
    await another.goto(at);
    tabs.push(another);
    if (count < 3) await another.getByRole("region", { name: "Table of clusters" }).waitFor();
  }
  const [first, last] = [tabs[0], tabs[4]];
  await said(last, "too many streams are open");
  const turns = (hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  };
  for (const hidden of tabs.slice(0, 2)) {
    await hidden.evaluate(turns, true);
    await hidden.clock.fastForward(21_000);
  }
  await last.clock.fastForward(30_000);
  await last.getByText("too many streams are open").waitFor({ state: "detached" });
  for (const closed of tabs.slice(2)) await closed.close();
  await first.evaluate(turns, false);
  await first.getByLabel("Search clusters").fill(PENDING);
  await isAlone(first, PENDING);
  for (const closed of tabs.slice(0, 2)) await closed.close();
}

/** What the user may do, or not. */
const right = (page, what) => page.getByRole("listitem").filter({ hasText: what });

async function isRefused(page) {
  await said(page, "Placements cannot be shown:");
  await page.goto(new URL(`/clusters/${PENDING}`, page.url()).href);
  await page.getByText(/: not possible$/).first().click();
  await said(page, "You lack the permission:");
  await looks(page, "refused");
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await right(page, "Accept and deny every cluster").getByText("No", { exact: true }).click();
  await said(page, "The role open-cluster-management:berth:accept has it.");
  await page.getByRole("searchbox", { name: "Namespace" }).fill("team-a");
  await page.getByRole("heading", { name: "In the namespace team-a" }).waitFor();
  await right(page, "Create works").getByText("No", { exact: true }).click();
  await said(page, `verb "create" on manifestworks in API group work.open-cluster-management.io, namespace "team-a"`);
  await looks(page, "you-may-not");
  await page.context().close();
}

async function signsOut(page) {
  // Keys are for the field while it is typed into.
  await page.getByRole("heading", { name: "Clusters" }).click();
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.getByRole("heading", { name: "You", exact: true }).waitFor();
  await right(page, "Accept and deny every cluster").getByText("Yes").waitFor();
  await looks(page, "you");
  const cookies = await page.context().cookies();
  await page.getByRole("button", { name: "Sign out" }).click();
  await said(page, "One-time code");
  await page.context().addCookies(cookies);
  const answer = await page.request.get(new URL("/api/session", page.url()).href);
  assert.equal(answer.status(), 401, "the cookie is worthless");
}

await play(async () => {
  const [dev, ending] = await signedIn("CONSOLE_DEV", "CONSOLE_ENDS");
  const page = await signsIn();
  await seesTheFleet(page);
  await findsClusters(page);
  await hasAWrongClock(page);
  await accepts(page);
  await follows(page);
  await hasManyTabs(page);
  await isRefused(dev);
  await ends(ending);
  await signsOut(page);
});
