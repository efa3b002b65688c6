// What axe finds on a page is a failure, and so is what is wider than a phone.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import fs from "node:fs";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

// In light, in dark, on a phone and on a desk.
export const SIGHTS = ["light", "dark"].flatMap((colorScheme) =>
  [360, 1280].map((width) => ({ colorScheme, viewport: { width, height: 800 } })));

export async function look(page, what) {
  if (!await page.evaluate(() => "axe" in window)) await page.evaluate(axe);
  const { violations } = await page.evaluate((runOnly) => axe.run(document, { runOnly }), RULES);
  const found = violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
  assert.deepEqual(found, [], what);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${what} is ${wide} px wider than it may be`);
}

// Looks through pages of the console, each of which is given by its path, or by that and a status that is no success.
export async function lookThrough(site, pages) {
  for (const sight of SIGHTS) {
    const page = await site.page("/console", sight, /40[04]/);
    for (const [path, status = 200] of pages.map((path) => [path].flat())) {
      const answer = await page.goto(`${site.base}/console${path}`);
      assert.equal(answer.status(), status, path);
      await page.evaluate(() => { for (const closed of document.querySelectorAll(".below details, #edit, [data-edit]")) closed.open = true; });
      await look(page, `${path} ${JSON.stringify(sight)}`);
    }
    await page.context().close();
  }
}
