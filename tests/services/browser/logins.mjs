// Logging in and out in a real browser, on a server where a login is needed.
import assert from "node:assert/strict";
import { look, SIGHTS } from "./look.mjs";
import { token, until } from "./site.mjs";

export function logins(site) {
  // A page of a server of its own, once `owner` has logged in there.
  const enter = async (page, owner, path) => {
    await page.goto(`${new URL(page.url()).origin}/console/login?next=/console${path}`);
    await page.getByLabel("Token").fill(token(owner));
    await page.getByRole("button", { name: "Log in" }).click();
    await page.waitForURL(`**/console${path}`);
  };
  const drafts = (page) => page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith("draft ")));
  const words = (page) => page.locator("#composer-text");

  return {
    async "who is not logged in gets to the login, and from there to the page that was asked for"() {
      const own = await site.guarded();
      for (const sight of SIGHTS) {
        const page = await own.page("/console/goals", sight, /401/);
        assert.equal(new URL(page.url()).search, "?next=%2Fconsole%2Fgoals");
        await look(page, "the login");
        await page.getByLabel("Token").fill("no token");
        await page.getByRole("button", { name: "Log in" }).click();
        await page.locator("#refused").waitFor();
        await look(page, "a login that was refused");
        await page.getByLabel("Token").fill(token("ann"));
        await page.getByRole("button", { name: "Log in" }).click();
        await page.waitForURL("**/console/goals");
        await page.context().close();
      }
    },

    async "a page of one person does nothing for another who logs in beside it"() {
      const own = await site.guarded();
      const page = await own.page("/console/login", SIGHTS[0], /409/);
      await enter(page, "ann", "/chats");
      await words(page).fill("say words of Ann");
      const other = await page.context().newPage();
      await other.goto(page.url());
      await enter(other, "bob", "/chats");
      await words(page).press("Control+Enter");
      await until("it is Bob's page", async () => (await page.evaluate(() => document.body.dataset.owner)) === "bob");
      assert.equal(await words(page).inputValue(), "");
      const { data } = await (await fetch(`${own.base}/v1/agents`, { headers: { authorization: `Bearer ${token("bob")}` } })).json();
      assert.ok(!data.some((agent) => agent.title.includes("words of Ann")), "it was not said by Bob");
      await page.context().close();
    },

    async "a login that ends leaves the page and what was written to whoever comes back, and to nobody else"() {
      const own = await site.guarded();
      for (const [owner, sight] of [["ann", SIGHTS[0]], ["ann", SIGHTS[3]], ["bob", SIGHTS[1]]]) {
        const page = await own.page("/console/login", sight, /401/);
        await enter(page, "ann", "/chats");
        await page.evaluate(() => { window.isFirst = true; });
        await words(page).fill("say half a");
        const other = await own.page("/console/login");
        await enter(other, "ann", "/chats");
        await other.getByRole("button", { name: "everywhere" }).click();
        await other.waitForURL("**/console/login");
        await other.context().close();
        const dialog = page.locator("#login[open]");
        await dialog.waitFor({ timeout: 20_000 });
        await look(page, "the dialog of a login that has ended");
        await dialog.getByLabel("Token").fill("no token");
        await dialog.getByRole("button", { name: "Log in" }).click();
        await dialog.locator(".problem").waitFor();
        await dialog.getByLabel("Token").fill(token(owner));
        await dialog.getByRole("button", { name: "Log in" }).click();
        await until("the dialog is closed", async () => (await dialog.count()) === 0);
        if (owner === "ann") {
          assert.ok(await page.evaluate(() => window.isFirst), "the page was not reloaded");
          assert.equal(await words(page).inputValue(), "say half a");
          await page.getByLabel("With").selectOption("kind=general");
          await words(page).press("Control+Enter");
          await page.waitForURL("**/console/chats/agt_*");
        } else {
          await until("the page is another one", async () => page.evaluate(() => document.body.dataset.owner === "bob"));
          assert.equal(await words(page).inputValue(), "", "what Ann wrote is hers");
        }
        await page.context().close();
      }
    },

    async "who logs out has what was being written forgotten in all windows, also in one that shows something else"() {
      const own = await site.guarded();
      const one = await own.page("/console/login", {}, /401/);
      await enter(one, "ann", "/chats");
      const windows = [one, await one.context().newPage(), await one.context().newPage()];
      for (const page of windows) {
        await page.goto(`${own.base}/console/chats`);
        await words(page).fill("say half a");
        assert.equal((await drafts(page)).length, 1);
      }
      const [, two, away] = windows;
      await away.goto("about:blank");
      await one.getByRole("button", { name: "Log out ann" }).click();
      await one.waitForURL("**/console/login");
      await until("the other window has forgotten it", async () => (await drafts(two)).length === 0);
      await enter(one, "ann", "/chats");
      for (const page of [one, away]) {
        await page.goto(`${own.base}/console/chats`);
        assert.equal(await words(page).inputValue(), "");
        assert.deepEqual(await drafts(page), []);
      }
      await one.context().close();
    },
  };
}
