// A hub with many clusters: the browser holds the part of the table that is seen. Needs CONSOLE and COUNT; the clusters are named
// many-00000 and so on.
import assert from "node:assert/strict";
import { env, looks, play, said, tab } from "./person.mjs";

const COUNT = Number(env("COUNT"));
const named = (number) => `many-${String(number).padStart(5, "0")}`;

await play(async () => {
  const page = await tab();
  await page.goto(env("CONSOLE"));
  await page.getByRole("list", { name: "Clusters by state" }).getByRole("link", { name: COUNT.toLocaleString("en-US") }).first().waitFor();
  await looks(page, "many-fleet");
  await page.getByRole("link", { name: "Clusters", exact: true }).click();
  await said(page, named(0));
  await page.getByRole("button", { name: `${COUNT.toLocaleString("en-US")} Pending` }).waitFor();
  await looks(page, "many");
  const rows = () => page.getByRole("row").count();
  assert.ok((await rows()) < 250, "the browser holds a part of the rows");
  // To the end, and to the middle: the rows of there appear, at their places.
  const box = page.getByRole("region", { name: "Table of clusters" });
  const seen = async (number) => {
    const row = page.getByRole("row").filter({ hasText: named(number) });
    await row.waitFor();
    assert.equal(await row.getAttribute("aria-rowindex"), String(number + 2));
    const [outer, inner] = [await box.boundingBox(), await row.boundingBox()];
    assert.ok(inner.y >= outer.y && inner.y + inner.height <= outer.y + outer.height + 1, `${named(number)} is in sight`);
  };
  await box.evaluate((it) => it.scrollTo(0, it.scrollHeight));
  await seen(COUNT - 1);
  const middle = Math.floor(COUNT / 2);
  await box.evaluate((it, top) => it.scrollTo(0, top), middle * 40);
  await seen(middle + 1);
  assert.ok((await rows()) < 250);
  await box.evaluate((it) => it.scrollTo(0, 0));
  await seen(0);
  // The other way round, and one of all.
  await page.getByRole("button", { name: "Name" }).click();
  await page.waitForURL(/sort=name/);
  await page.getByRole("button", { name: "Name" }).click();
  await page.waitForURL(/sort=-name/);
  await page.getByRole("row").nth(1).getByText(named(COUNT - 1)).waitFor();
  await page.getByLabel("Search clusters").fill(named(middle));
  await page.getByRole("row").nth(1).getByText(named(middle)).waitFor();
  assert.equal(await rows(), 2);
});
