// The screen Health. Needs CONSOLE, the address for an admin of a hub on which the registration of sets is missing, and CONSOLE_NOBODY, the
// address for a user who may read nothing.
import assert from "node:assert/strict";
import { env, looks, play, said, signedIn } from "./person.mjs";

async function sees(page) {
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await page.waitForURL(/health$/);
  await page.getByRole("heading", { name: "All checks" }).waitFor();
  await page.getByRole("row", { name: /registration/ }).waitFor();
  const finding = page.getByRole("article", { name: /^registrations: .*managedclustersetvalidators/ });
  await finding.waitFor();
  await looks(page, "health");
  // The remedy is a command to copy.
  await finding.getByRole("button", { name: /^Copy: kubectl/ }).first().click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /^kubectl apply /);
  // Once more: the button says so, and the time is a new one.
  const button = page.locator("button.look");
  await page.getByText(/checked ([1-9]\d+s|\d+m) ago/).waitFor();
  await button.click();
  await page.getByRole("button", { name: "Look again" }).waitFor();
  await page.getByText(/checked [0-9]s ago/).waitFor();
  await page.close();
}

async function isRefused(page) {
  await page.goto(new URL("/health", page.url()).href);
  await said(page, "you have none of the permissions");
  await looks(page, "health-refused");
  await page.close();
}

await play(async () => {
  const [page, nobody] = await signedIn("CONSOLE", "CONSOLE_NOBODY");
  await sees(page);
  await isRefused(nobody);
});
