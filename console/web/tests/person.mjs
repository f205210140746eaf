// A person at a browser: tabs in which nothing goes wrong unseen, and what is looked at on each screen.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

export const env = (name) => process.env[name] ?? assert.fail(`${name} is not set`);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The pictures of docs/console.md by what is looked at. A play writes them into the folder PICTURES. */
const PICTURES = { "story-pending": "cluster-pending", "fleet-needs": "fleet-needs", "story-what-if": "what-if", works: "works" };
const SIZES = { desk: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };

export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
/** What must not happen: an error of the page, or a violation of its policy. */
export const wrong = [];

export async function tab(options = {}) {
  const context = await browser.newContext({ viewport: SIZES.desk, reducedMotion: "reduce", ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  // The machine may have much else to do.
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => wrong.push(`error: ${error}`));
  page.on("console", (line) => {
    // The browser itself reports refused and failed requests.
    if (line.type() === "error" && !line.text().startsWith("Failed to load resource")) wrong.push(`console: ${line.text()}`);
  });
  return page;
}

/** A tab for each of these variables, signed in there. Plays begin with it: a code is good for two minutes, and a play may last longer. */
export function signedIn(...names) {
  return Promise.all(
    names.map(async (name) => {
      const page = await tab();
      await page.goto(env(name));
      await page.getByRole("navigation").waitFor();
      return page;
    }),
  );
}

/** axe finds nothing, in both colour schemes and at both widths. */
export async function looks(page, name) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      // The page's policy refuses scripts of others; those of the tester run beside it.
      const found = await page.evaluate(`(() => { ${axe}; return axe.run(); })()`);
      const said = found.violations.map((it) => `${it.id}: ${it.nodes.map((node) => node.html).join(" | ")}`);
      assert.deepEqual(said, [], `${name}, ${size}, ${colorScheme}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name}, ${size}: ${wide} pixels are out of sight`);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${name}-${size}-${colorScheme}.png` });
    }
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  const picture = PICTURES[name];
  if (process.env.PICTURES && picture) {
    await page.setViewportSize({ width: 1000, height: 640 });
    await page.waitForFunction(() => document.querySelector(".told").textContent === "");
    await page.screenshot({ path: `${process.env.PICTURES}/${picture}.png` });
  }
  await page.setViewportSize(SIZES.desk);
}

export const said = (page, text) => page.getByText(text).first().waitFor();

/** Runs the program, with the KUBECONFIG of the play. */
export const berth = (...args) => execFileSync(env("BERTH"), args, { encoding: "utf8" });

/** Plays, and ends the browser. If it fails, what the pages showed is said. */
export async function play(acts) {
  try {
    await acts();
    assert.deepEqual(wrong, []);
    console.log("all of it was seen");
  } catch (error) {
    for (const page of browser.contexts().flatMap((context) => context.pages())) {
      const text = await page.evaluate(() => document.body.innerText).catch(() => "(nothing)");
      console.error(`--- ${page.url()} showed:\n${text.slice(0, 4_000)}\n---`);
    }
    throw error;
  } finally {
    await browser.close();
  }
}
