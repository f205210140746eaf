// The session ends while a tab is open: the user signs in over the page, and what was typed stays. It starts consoles itself. Needs BERTH
// and KUBECONFIG of an admin, the placement app of the namespace TEAM, which selects one of three clusters, with C1 and C3; and OTHER_USER,
// the name of a user without permissions.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { berth, env, looks, play, said, tab } from "./person.mjs";

const TEAM = env("TEAM");
const [C1, C3] = [env("C1"), env("C3")];
const OTHER = env("OTHER_USER");

/** Starts a console. */
async function serves(...flags) {
  const child = spawn(env("BERTH"), ["console", ...flags], { stdio: ["pipe", "pipe", "inherit"] });
  process.on("exit", () => child.kill("SIGKILL"));
  const ended = new Promise((done) => child.once("exit", done));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const address = async () => {
    for (;;) {
      const { value, done } = await lines.next();
      assert.ok(!done, "the console has ended");
      if (value.trim().startsWith("http://")) return new URL(value.trim());
    }
  };
  return {
    address: await address(),
    /** Presses Enter in the terminal. */
    another: () => (child.stdin.write("\n"), address()),
    ends: () => (child.kill("SIGKILL"), ended),
  };
}

const again = (page) => page.getByRole("dialog", { name: "Your session has ended" });
const yaml = (page) => page.getByLabel("The placement, to be changed");

async function signsIn(page, code) {
  await again(page).getByLabel("One-time code").fill(code);
  await page.keyboard.press("Enter");
}

/** Ends the session at the server, unseen by the page. */
async function endSession(page) {
  const answer = await page.request.delete(new URL("/api/session", page.url()).href, { headers: { "X-Berth-Console": "1" } });
  assert.equal(answer.status(), 204);
}

async function types(page, served) {
  await page.goto(served.address.href);
  await page.getByRole("heading", { name: "Fleet" }).waitFor();
  await page.goto(new URL(`/placements/${TEAM}/app`, page.url()).href);
  await page.getByRole("button", { name: "What if…" }).click();
  const before = await yaml(page).inputValue();
  await yaml(page).fill(before.replace("numberOfClusters: 1", "numberOfClusters: 2"));
  await said(page, "1 cluster comes, none goes, 1 stays.");
  return before;
}

/** The console is started anew while a what-if is typed. */
async function goesOn(page, served) {
  const before = await types(page, served);
  await served.ends();
  const renewed = await serves("--port", served.address.port);
  await again(page).waitFor();
  await again(page).getByLabel("One-time code").waitFor();
  await looks(page, "sign-in-again");
  // The focus is in the dialog, and stays there; Escape does not close it.
  const place = () => page.evaluate(() => document.activeElement.closest("dialog") !== null || document.activeElement === document.body);
  for (const key of ["Tab", "Tab", "Tab", "Tab", "Shift+Tab", "Escape", "Escape"]) {
    await page.keyboard.press(key);
    assert.ok(await place(), `after ${key} the focus is behind the dialog`);
  }
  await signsIn(page, "wrong");
  await again(page).getByRole("alert").getByText("the code is wrong").waitFor();
  assert.match(await yaml(page).inputValue(), /numberOfClusters: 2/);
  // Requests that were refused meanwhile are sent again.
  await signsIn(page, renewed.address.href);
  await again(page).waitFor({ state: "detached" });
  assert.match(await yaml(page).inputValue(), /numberOfClusters: 2/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "yaml", "the focus is where it was");
  await yaml(page).fill(before.replace("numberOfClusters: 1", "numberOfClusters: 3"));
  await said(page, "2 clusters come, none goes, 1 stays.");
  // The stream goes on, too.
  berth("cordon", C3);
  await page.getByRole("group", { name: "Results" }).getByRole("button", { name: "1 tainted" }).waitFor();
  berth("uncordon", C3);
  await page.getByText("The console has not answered for").waitFor({ state: "detached" });
  return renewed;
}

/** The session ends while a question is open: it is asked again after the sign-in. */
async function isAsked(page, served) {
  await page.goto(new URL(`/clusters/${C1}`, page.url()).href);
  await page.getByLabel(`Labels of ${C1} to set or remove`).fill("typed=yes");
  await page.getByRole("button", { name: `Cordon ${C1}` }).click();
  await page.getByRole("dialog").getByText("Nothing is changed yet.").waitFor();
  await endSession(page);
  await again(page).waitFor();
  await signsIn(page, (await served.another()).hash.replace("#code=", ""));
  await again(page).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Cordon now" }).click();
  await page.getByRole("dialog").getByText("Done:").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByText("cordoned", { exact: true }).first().waitFor();
  assert.equal(await page.getByLabel(`Labels of ${C1} to set or remove`).inputValue(), "typed=yes");
}

/** The user signs in in another tab: this one goes on by itself. */
async function seesTheOtherTab(page, served) {
  await endSession(page);
  await again(page).waitFor();
  const other = await page.context().newPage();
  await other.goto((await served.another()).href);
  await again(page).waitFor({ state: "detached" });
  assert.equal(await page.getByLabel(`Labels of ${C1} to set or remove`).inputValue(), "typed=yes");
  await other.close();
}

/** Another user signs in: nothing of the user before is shown. */
async function isReplaced(page, served) {
  await served.ends();
  const other = await serves("--port", served.address.port, "--as", OTHER);
  await again(page).waitFor();
  await signsIn(page, other.address.href);
  await page.getByRole("link", { name: OTHER }).waitFor();
  await again(page).waitFor({ state: "detached" });
  await said(page, "The hub has refused this");
  assert.equal(await page.getByText("typed=yes").count(), 0);
  assert.equal(await page.locator("input").evaluateAll((all) => all.filter((it) => it.value === "typed=yes").length), 0);
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await said(page, "by the code of the terminal");
  const kept = await page.evaluate(() => [localStorage.length, sessionStorage.length]);
  assert.deepEqual(kept, [0, 0], "nothing is kept in the browser");
  return other;
}

/** The ways of a console in a pod, whose server is played here. */
async function seesTheWays(served) {
  const page = await tab();
  const offers = (ways) => page.route("**/api/sign-in", (route) => route.fulfill({ json: { ways, issuer: "https://login.example" } }));
  await offers(["oidc", "token"]);
  await page.goto(`${served.address.origin}/clusters?q=prod#sign-in=denied`);
  await page.getByRole("alert").getByText("The provider has not signed you in.").waitFor();
  assert.equal(new URL(page.url()).hash, "", "the word is out of the address");
  const link = page.getByRole("link", { name: "Sign in at https://login.example" });
  assert.equal(await link.getAttribute("href"), "/oidc/start?to=%2Fclusters%3Fq%3Dprod");
  const field = page.getByLabel("A token of the hub");
  assert.deepEqual([await field.getAttribute("type"), await field.getAttribute("autocomplete")], ["password", "off"]);
  await looks(page, "sign-in-ways");
  // A token is sent as one, and this console takes none.
  await field.fill("no-token");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("this console has no such way to sign in").waitFor();
  for (const [word, text] of [
    ["expired", "The sign-in took too long"],
    ["failed", "The provider's answer cannot be used."],
    ["unavailable", "The provider or the hub does not answer."],
    ["untrusted", "The hub does not accept the provider's token."],
  ]) {
    await page.goto("about:blank");
    await page.goto(`${served.address.origin}/#sign-in=${word}`);
    await page.getByRole("alert").getByText(text).waitFor();
  }
  // Words of others are not shown.
  await page.goto("about:blank");
  await page.goto(`${served.address.origin}/#sign-in=Call+the+helpdesk`);
  await field.waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.unroute("**/api/sign-in");
  await offers(["proxy"]);
  await page.goto(`${served.address.origin}/works`);
  assert.equal(await page.getByRole("link", { name: "Load the page from the proxy" }).getAttribute("href"), "/works");
  await looks(page, "sign-in-proxy");
  await page.context().close();
}

await play(async () => {
  const page = await tab();
  const served = await goesOn(page, await serves());
  await isAsked(page, served);
  await seesTheOtherTab(page, served);
  await seesTheWays(served);
  const other = await isReplaced(page, served);
  await other.ends();
});
