// A console for many users, over TLS: ada signs in at an OpenID provider, and again over the page when her session ends. Needs CONSOLE, the
// address of a console that also takes tokens; ISSUER, a provider that signs ada in at once; and TOKEN, a token of a user named BOT.
import assert from "node:assert/strict";
import { env, looks, play, said, tab } from "./person.mjs";

const CONSOLE = env("CONSOLE");

/** A tab that takes the console's own certificate. */
const open = async (path) => {
  const page = await tab({ ignoreHTTPSErrors: true });
  await page.goto(`${CONSOLE}${path}`);
  return page;
};
const provider = (at) => at.getByRole("link", { name: `Sign in at ${env("ISSUER")}` });

async function atTheProvider() {
  // A link to a page leads there after the sign-in.
  const page = await open("/clusters?q=set%3Aprod");
  await provider(page).waitFor();
  await looks(page, "sign-in-provider");
  await provider(page).click();
  await page.getByRole("heading", { name: "Clusters" }).waitFor();
  assert.equal(page.url(), `${CONSOLE}/clusters?q=set%3Aprod`);
  assert.equal(await page.locator("#search").inputValue(), "set:prod");
  await page.getByRole("link", { name: "ada" }).click();
  await said(page, "fleet-admins");
  await looks(page, "me-provider");
  // No script of a page can read the session, and the browser stores nothing else.
  const stored = await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length]);
  assert.deepEqual(stored, ["", 0, 0]);
  return page;
}

/** The session ends: the user signs in again in a new tab, and what was typed stays. */
async function again(page) {
  await page.goto(`${CONSOLE}/clusters`);
  await page.locator("#search").fill("set:dev");
  const answer = await page.request.delete(`${CONSOLE}/api/session`, { headers: { "X-Berth-Console": "1" } });
  assert.equal(answer.status(), 204);
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor();
  const opened = page.context().waitForEvent("page");
  await provider(dialog).click();
  const other = await opened;
  await other.getByRole("heading", { name: "Clusters" }).waitFor();
  await dialog.waitFor({ state: "detached" });
  assert.equal(await page.locator("#search").inputValue(), "set:dev");
  await page.goto(`${CONSOLE}/me`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await provider(page).waitFor();
}

async function byToken() {
  const page = await open("/");
  const field = page.getByLabel("A token of the hub");
  await field.fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("the hub does not accept this token").waitFor();
  await looks(page, "sign-in-wrong-token");
  await field.fill(env("TOKEN"));
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: env("BOT") }).waitFor();
  // It may see nothing, and the page says which role to ask for.
  await said(page, "console-reader");
}

async function failed() {
  // As another browser's answer of the provider.
  const page = await open("/oidc/callback?code=a&state=b");
  await page.getByRole("alert").getByText("The sign-in took too long, or was begun in another browser.").waitFor();
  assert.equal(page.url(), `${CONSOLE}/`);
}

await play(async () => {
  await again(await atTheProvider());
  await byToken();
  await failed();
});
