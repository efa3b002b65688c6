// Each key does what the dialog of keys says of it, says why it cannot, or does nothing at all once keys are off.
import assert from "node:assert/strict";
import { look, SIGHTS } from "./look.mjs";
import { posts, until, wait } from "./site.mjs";

export function keys(site) {
  const inFocus = (page) => page.evaluate(() => document.activeElement.id);
  // What a script says for all to hear, in place of what it has said before.
  const says = async (page, key, text) => {
    await page.evaluate(() => { document.getElementById("said").textContent = ""; });
    await page.keyboard.press(key);
    await page.locator("#said").getByText(text).waitFor({ state: "attached" });
  };
  const copied = (page) => page.evaluate(() => navigator.clipboard.readText());

  return {
    async "r rejects with a reason, A shows what it grants for all time, and v takes that back"() {
      const [rejected, granted] = [await site.ask("note One."), await site.ask("note Two.")];
      const page = await site.page(`/console/q/${(await site.question(rejected)).id}`);
      await page.keyboard.press("j");
      await page.keyboard.press("r");
      await page.keyboard.type("It is wrong.");
      await page.keyboard.press("Control+Enter");
      await site.status(rejected, "succeeded");
      const [done] = (await site.api(`/v1/questions?agent=${rejected}`)).data;
      assert.deepEqual([done.status, done.answer], ["answered", "reject: It is wrong."]);
      await page.goto(`${site.base}/console/q/${(await site.question(granted)).id}`);
      await page.keyboard.press("j");
      await wait(800);
      assert.deepEqual(await posts(page, () => page.keyboard.press("A")), [], "it shows, and does nothing");
      assert.ok(await page.getByText("This agent may then call").isVisible());
      await page.keyboard.press("Enter");
      await site.status(granted, "succeeded");
      await page.goto(`${site.base}/console/grants`);
      await page.keyboard.press("j");
      await page.keyboard.press("v");
      await page.getByText("revoked").waitFor();
      const [grant] = (await site.api("/v1/grants")).data.filter((grant) => grant.agent === granted);
      assert.equal(grant.status, "revoked");
      await page.context().close();
    },

    async "R, s, m and . open what is done to an agent, of a page or of a row"() {
      const failed = await site.ask("fail");
      await site.status(failed, "failed");
      const page = await site.page(`/console/agents/${failed}`);
      await page.locator("#main").focus();
      const opened = page.locator("#acts[open]");
      for (const [key, action, focus] of [["R", "retry", "acts-action"], ["s", "steer", "acts-text"], ["m", "modify", "acts-text"]]) {
        await page.keyboard.press(key);
        await opened.waitFor();
        assert.deepEqual([await page.locator("#acts-action").inputValue(), await inFocus(page)], [action, focus]);
        await page.keyboard.press("Escape");
        await until("it is closed", async () => (await opened.count()) === 0);
      }
      await page.keyboard.press("R");
      await page.getByRole("button", { name: "Do it" }).click();
      await until("it was tried again", async () => (await site.api(`/v1/agents/${failed}/interventions`)).data.some((done) => done.action === "retry"));
      await page.goto(`${site.base}/console/trees/${failed}`);
      await page.keyboard.press("j");
      await page.keyboard.press(".");
      await opened.waitFor();
      assert.equal(await page.locator("#acts-about").textContent(), "fail");
      await page.context().close();
    },

    async "[ and ] lead from request to request, and / to the filter, or it says that there is none"() {
      const agent = await site.ask("spawn say once");
      const page = await site.page(`/console/runs/${(await site.run(agent, 2)).id}/requests/1`);
      await page.keyboard.press("]");
      await page.waitForURL("**/requests/2*");
      await page.keyboard.press("[");
      await page.waitForURL("**/requests/1*");
      await page.goto(`${site.base}/console/trees`);
      await page.keyboard.press("/");
      assert.equal(await inFocus(page), "filter-text");
      await page.goto(`${site.base}/console/trees/${agent}`);
      await says(page, "/", "This page has no filter");
      await page.context().close();
    },

    async "y copies the link of the page or of its row, and says where nothing was copied"() {
      const agent = await site.ask("say copied");
      await site.status(agent, "succeeded");
      const page = await site.page("/console/trees?text=copied#main", { permissions: ["clipboard-read", "clipboard-write"] });
      await says(page, "y", "The link is copied");
      assert.equal(await copied(page), `${site.base}/console/trees?text=copied#main`);
      await page.keyboard.press("j");
      await says(page, "y", "The link is copied");
      assert.equal(await copied(page), `${site.base}/console/trees/${agent}`);
      // Without TLS there is no clipboard, and with it a person may refuse.
      for (const isThere of [false, true]) {
        await page.evaluate((isThere) => Object.defineProperty(navigator, "clipboard", {
          configurable: true, value: isThere ? { writeText: () => Promise.reject(new Error("no")) } : undefined,
        }), isThere);
        await says(page, "y", "lets nothing be copied");
      }
      await page.context().close();
    },

    async "h holds the page as it is, and lets it go on"() {
      const page = await site.page("/console");
      await page.keyboard.press("h");
      await page.getByRole("button", { name: "Held" }).waitFor();
      const agent = await site.ask("ask Held back?");
      await until("the number says that there is one", async () => (await page.locator("#open-questions").textContent()) === "1");
      assert.equal(await page.locator("[data-question]").count(), 0);
      await page.keyboard.press("h");
      await page.getByText("Held back?", { exact: true }).waitFor();
      await site.api(`/v1/agents/${agent}/interventions`, { action: "stop" });
      await page.context().close();
    },

    async "keys that are off do nothing, also on the next page, until they are on again"() {
      const agent = await site.ask("ask Off? | yes | no");
      const { id } = await site.question(agent);
      const page = await site.page("/console");
      const turn = async (isOn) => {
        await page.getByRole("button", { name: "Keys" }).click();
        await page.getByLabel("Keys are on").setChecked(isOn);
        await page.keyboard.press("Escape");
        await until("it is closed", async () => (await page.locator("dialog[open]").count()) === 0);
      };
      await turn(false);
      for (const path of ["", `/agents/${agent}`]) {
        await page.goto(`${site.base}/console${path}`);
        await wait(800);
        await page.locator("#main").focus();
        const sent = await posts(page, async () => {
          for (const key of ["j", "1", "d", "p", "S", "D", ".", "?", "h", "y", "g", "t"]) await page.keyboard.press(key);
        });
        assert.deepEqual(sent, []);
        assert.deepEqual([await inFocus(page), new URL(page.url()).pathname, await page.locator("dialog[open]").count()],
          ["main", `/console${path}`, 0]);
        assert.equal(await page.locator("#said").textContent(), "");
        assert.equal(await page.locator("#hold").getAttribute("aria-pressed"), "false");
      }
      await page.goto(`${site.base}/console`);
      await turn(true);
      await page.locator("#main").focus();
      await page.keyboard.press("j");
      assert.equal(await inFocus(page), id);
      await page.context().close();
    },

    async "axe finds nothing in the dialogs, where the connection is lost, and where there is a new version"() {
      const agent = await site.ask("say once");
      await site.status(agent, "succeeded");
      for (const sight of SIGHTS) {
        const page = await site.page(`/console/agents/${agent}`, sight, /ERR_|Failed/);
        await page.locator("#main").focus();
        for (const [key, dialog] of [["?", "#keys[open]"], ["S", "#acts[open]"], ["m", "#acts[open]"]]) {
          await page.keyboard.press(key);
          await page.locator(dialog).waitFor();
          await look(page, dialog);
          await page.keyboard.press("Escape");
          await until("it is closed", async () => (await page.locator("dialog[open]").count()) === 0);
        }
        // As a page that is older than the server.
        await page.evaluate(() => {
          document.body.dataset.assets = "older";
          document.dispatchEvent(new Event("console:connect"));
        });
        await page.getByText("A new version of this page is there").waitFor();
        await look(page, "a new version");
        await page.context().setOffline(true);
        await page.evaluate(() => dispatchEvent(new Event("online")));
        await page.locator("#lost").getByText("No connection since").waitFor({ timeout: 20_000 });
        await look(page, "a lost connection");
        await page.context().close();
      }
    },
  };
}
