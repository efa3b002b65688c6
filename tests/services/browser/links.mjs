// Links that agents write to the console itself: they lead to a page, and do nothing.
import assert from "node:assert/strict";
import { wait } from "./site.mjs";

export const links = (site) => ({
  async "a link of an agent to the console leads to a page, shows that it is a link of the text, and does nothing"() {
    const asks = await site.ask("note A note that must be approved.");
    const question = await site.question(asks);
    const paths = [`/console/q/${question.id}`, `/console/q/${question.id}/answer?act=approve`, "/console/logout",
      `/console/agents/${asks}/interventions?action=stop`, `/console/goals/${asks}/delete`];
    const says = await site.ask(`say ${paths.map((path, at) => `[link ${at}](${site.base}${path})`).join(" ")}`);
    await site.status(says, "succeeded");
    const page = await site.page(`/console/agents/${says}`, {}, /40[045]/);
    for (const [at, path] of paths.entries()) {
      await page.goto(`${site.base}/console/agents/${says}`);
      const link = page.locator(".turn .markdown[hx-ignore] a").nth(at);
      const shown = await link.evaluate((link) => [...link.attributes].map(({ name }) => name).sort().concat(getComputedStyle(link, "::after").content));
      assert.deepEqual(shown, ["href", "rel", '" ↗"']);
      const asked = [];
      const note = (request) => { if (request.isNavigationRequest()) asked.push(`${request.method()} ${request.url()}`); };
      page.on("request", note);
      await link.click();
      await page.waitForURL(site.base + path);
      // Until nothing is settled any more.
      await wait(800);
      page.off("request", note);
      assert.deepEqual(asked, [`GET ${site.base}${path}`]);
      assert.equal((await site.api(`/v1/questions/${question.id}`)).status, "open", path);
      assert.equal((await site.api(`/v1/agents/${asks}`)).status, "waiting", path);
    }
    await page.context().close();
    await site.api(`/v1/agents/${asks}/interventions`, { action: "stop" });
  },
});
