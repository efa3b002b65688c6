// The console in a real browser: `node console.mjs BINARY DATA PORT CHROMIUM [LONG]`.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import fs from "node:fs";
import http from "node:http";
import { Site, until, wait } from "./site.mjs";

const [binary, data, port, chromiumPath, long] = process.argv.slice(2);
const site = await Site.open(binary, data, Number(port), chromiumPath);
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const REFRESHES = long ? 1000 : 100;
const OFFLINE = (long ? 600 : 60) * 1000;
// What a browser says of a server that is away.
const AWAY = /ERR_|Failed to load resource|Failed to fetch|network error/;

const tests = {
  async "a question appears and is answered by keyboard, and the next one is in focus"() {
    const page = await site.page("/console");
    await page.getByText("Nobody waits for you").waitFor();
    const asked = [];
    for (const n of [1, 2, 3]) asked.push(await site.ask(`ask Which colour, ${n}? | red | blue`));
    for (const n of [1, 2, 3]) await page.getByText(`Which colour, ${n}?`, { exact: true }).waitFor();
    await until("the count", async () => (await page.locator("#open-questions").textContent()) === "3");
    assert.match(await page.title(), /^\(3\) Inbox/);
    await page.keyboard.press("j");
    await page.keyboard.press("2");
    await until("one is gone", async () => (await page.locator("[data-question]").count()) === 2);
    const inFocus = () => page.evaluate(() => document.activeElement?.closest("[data-question]")?.id ?? "");
    await until("the next one is in focus", async () => (await inFocus()).startsWith("qst_"));
    await page.keyboard.press("w");
    await page.keyboard.type("Neither of them.");
    await page.keyboard.press("Control+Enter");
    await until("two are gone", async () => (await page.locator("[data-question]").count()) === 1);
    await until("the last one is in focus", async () => (await inFocus()).startsWith("qst_"));
    await wait(600);
    await page.keyboard.press("d");
    await page.getByText("Nobody waits for you").waitFor();
    for (const agent of asked) await site.status(agent, "succeeded");
    const answers = (await site.api("/v1/questions")).data.map((question) => question.answer ?? question.status).sort();
    assert.deepEqual(answers, ["Neither of them.", "blue", "declined"]);
    await page.context().close();
  },

  async "a draft, the focus, what is open and what is selected survive refreshes"() {
    const agent = await site.ask("ask What shall it be?");
    await site.question(agent);
    const page = await site.page("/console");
    const draft = page.getByPlaceholder("Answer in words").first();
    await page.getByText("In the agent’s own words").first().click();
    await draft.fill("half a sentence");
    await draft.evaluate((field) => field.setSelectionRange(5, 8));
    let refreshed = 0;
    page.on("response", (response) => { refreshed += Number(response.url().includes("/console/f") && response.status() === 200); });
    for (let n = 0; refreshed < REFRESHES; n += 1) {
      const other = await site.ask(`ask Number ${n}?`);
      await site.question(other);
      await page.evaluate(() => document.getElementById("main").dispatchEvent(new CustomEvent("live")));
      await site.api(`/v1/agents/${other}/interventions`, { action: "stop" });
      await page.evaluate(() => document.getElementById("main").dispatchEvent(new CustomEvent("live")));
      assert.ok(n < 20 * REFRESHES, `${refreshed} refreshes`);
    }
    const kept = await draft.evaluate((field) => [field.value, field.selectionStart, field.selectionEnd, document.activeElement === field]);
    assert.deepEqual(kept, ["half a sentence", 5, 8, true]);
    assert.ok(await page.locator("details[open]").count(), "what was opened is open");
    await page.context().close();
    await site.api(`/v1/agents/${agent}/interventions`, { action: "stop" });
  },

  async "an answer is seen as it comes and replaced by the turn"() {
    const agent = await site.ask("say begun");
    await site.status(agent, "succeeded");
    const page = await site.page(`/console/agents/${agent}`);
    await page.getByPlaceholder("Write to the agent").fill("slow 60");
    await page.keyboard.press("Control+Enter");
    await page.locator("#stream").getByText("word3").waitFor();
    assert.equal(await page.locator(".transcript .turn").getByText("word3").count(), 0);
    assert.equal(await page.getByPlaceholder("Write to the agent").inputValue(), "", "what was sent is cleared");
    await page.locator(".transcript .turn").getByText("word59").waitFor();
    await until("the pieces are gone", async () => page.locator("#stream").isHidden());
    await page.context().close();
  },

  async "a server that is killed and comes back is noticed, without a reload and without losing a draft"() {
    const agent = await site.ask("ask Before or after?");
    await site.question(agent);
    const slow = await site.ask("slow 400");
    const tree = await site.page(`/console/trees/${agent}`, {}, AWAY);
    const page = await site.page(`/console/agents/${slow}`, {}, AWAY);
    for (const other of [tree, page]) await other.evaluate(() => { window.isFirst = true; });
    await page.locator("#stream").getByText("word3").waitFor();
    const draft = page.getByPlaceholder("Write to the agent");
    await draft.fill("not sent yet");
    await site.kill();
    await page.getByText("No connection since").waitFor();
    await draft.press("Control+Enter");
    await page.getByText("Your text is still here").waitFor();
    assert.equal(await draft.inputValue(), "not sent yet");
    await site.start();
    for (const other of [tree, page]) await until("it is connected", async () => other.locator("#lost").isHidden(), 20_000);
    const question = await site.question(agent);
    await site.api(`/v1/questions/${question.id}/answer`, { answer: "After." });
    await tree.locator(`#${agent}`).getByText("succeeded").waitFor();
    await page.locator(".transcript .turn").getByText("word399").waitFor({ timeout: 40_000 });
    assert.ok(await page.locator("#stream").isHidden());
    for (const other of [tree, page]) assert.ok(await other.evaluate(() => window.isFirst), "no page was reloaded");
    assert.equal(await draft.inputValue(), "not sent yet");
    await draft.press("Control+Enter");
    await page.locator(".transcript .message").getByText("not sent yet").waitFor();
    for (const other of [tree, page]) await other.context().close();
  },

  async "what happened while the browser was offline is there when it is back"() {
    const agent = await site.ask("say first");
    await site.status(agent, "succeeded");
    const page = await site.page(`/console/agents/${agent}`, {}, AWAY);
    await page.locator(".turn").getByText("first").waitFor();
    await page.context().setOffline(true);
    // A connection that is open stays: it ends here as one does in a tunnel.
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await page.getByText("No connection since").waitFor({ timeout: 20_000 });
    for (const word of ["second", "third", "fourth"]) {
      await site.api(`/v1/agents/${agent}/messages`, { message: `say ${word}` });
      await site.status(agent, "succeeded");
    }
    await wait(OFFLINE);
    await page.context().setOffline(false);
    for (const word of ["second", "third", "fourth"]) await page.locator(".turn").getByText(word).waitFor({ timeout: 20_000 });
    await until("the bar is gone", async () => page.locator("#lost").isHidden());
    await page.context().close();
  },

  async "two tabs answer one question, and the second is told which answer counts"() {
    const agent = await site.ask("ask Once or twice? | once | twice");
    const { id } = await site.question(agent);
    const [one, two] = [await site.page(`/console/q/${id}`), await site.page(`/console/q/${id}`, {}, /409/)];
    await two.getByRole("button", { name: "Hold" }).click();
    await one.getByLabel("once").check();
    await one.getByRole("button", { name: "Answer", exact: true }).click();
    await one.getByText("Nobody waits for you").waitFor();
    await two.getByLabel("twice").check();
    await two.getByRole("button", { name: "Answer", exact: true }).click();
    await two.locator("#failed").getByText("answered already").waitFor();
    await two.locator("#failed").getByText("once").waitFor();
    await two.getByRole("button", { name: "Held" }).click();
    await two.locator(".answer").getByText("answered").waitFor();
    for (const page of [one, two]) await page.context().close();
  },

  async "eight tabs are all kept current"() {
    const context = await site.browser.newContext();
    const pages = [];
    for (let n = 0; n < 8; n += 1) {
      const page = await context.newPage();
      // All windows of such a browser count as seen.
      await page.addInitScript(() => Object.defineProperty(document, "hidden", { get: () => window.isHidden ?? false }));
      for (const other of pages) {
        await other.evaluate(() => { window.isHidden = true; document.dispatchEvent(new Event("visibilitychange")); });
      }
      await page.goto(`${site.base}/console`, { timeout: 20_000, waitUntil: "domcontentloaded" });
      pages.push(page);
    }
    const agent = await site.ask("ask Who sees this?");
    await pages.at(-1).getByText("Who sees this?", { exact: true }).waitFor();
    await pages[0].evaluate(() => { window.isHidden = false; document.dispatchEvent(new Event("visibilitychange")); });
    await pages[0].getByText("Who sees this?", { exact: true }).waitFor({ timeout: 20_000 });
    await site.api(`/v1/agents/${agent}/interventions`, { action: "stop" });
    await context.close();
  },

  async "all is done by keyboard: a new agent, its tree, its pause, its end"() {
    const page = await site.page("/console");
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForURL("**/console/trees");
    await page.getByPlaceholder("Ask a new agent").focus();
    await page.keyboard.type("spawn ask Who is it? ; say found");
    await page.keyboard.press("Tab");
    await page.keyboard.type("general");
    await page.keyboard.press("Control+Enter");
    await page.waitForURL("**/console/agents/agt_*");
    const agent = page.url().split("/").at(-1);
    await page.locator("#main").focus();
    await page.goto(`${site.base}/console/trees/${agent}`);
    await page.locator("tr.row").nth(2).waitFor();
    await page.keyboard.press("j");
    assert.equal(await page.evaluate(() => document.activeElement.id), agent);
    await page.keyboard.press("p");
    await page.locator("#acts[open]").waitFor();
    assert.equal(await page.locator("#acts-action").inputValue(), "pause");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await until("the dialog is closed", async () => (await page.locator("#acts[open]").count()) === 0);
    await until("it is on record", async () => (await site.api(`/v1/agents/${agent}/interventions`)).data.some((done) => done.action === "pause"));
    await page.locator(`#${agent}`).focus();
    await page.keyboard.press("S");
    await page.locator("#acts-warning").getByText("2 below it").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await until("it was stopped", async () => (await site.api(`/v1/agents/${agent}/interventions`)).data.some((done) => done.action === "stop"));
    await until("the dialog is closed", async () => (await page.locator("#acts[open]").count()) === 0);
    await page.keyboard.press("?");
    await page.locator("#keys[open]").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(`#${agent}`).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/console/agents/${agent}`);
    await page.context().close();
  },

  async "a call is approved only as it was shown, with arguments that a person has edited"() {
    const agent = await site.ask("note The lighthouse is red.");
    const { id } = await site.question(agent);
    const page = await site.page(`/console/q/${id}`);
    await page.keyboard.press("j");
    await page.keyboard.press("e");
    await page.getByLabel("Arguments, as JSON").fill('{"title": "Lighthouse", "content": "It is white."}');
    await page.keyboard.press("Control+Enter");
    await page.getByText("Nobody waits for you").waitFor();
    await site.status(agent, "succeeded");
    const notes = (await site.api("/v1/notes")).data.map((note) => note.content);
    assert.ok(notes.includes("It is white.") && !notes.includes("The lighthouse is red."), `${notes}`);
    await page.context().close();
  },

  async "a key that is held down answers one question, and a click on what has just moved answers none"() {
    const asked = [];
    for (const n of [1, 2, 3]) asked.push(await site.ask(`note Number ${n}.`));
    for (const agent of asked) await site.question(agent);
    const page = await site.page("/console");
    await until("three are open", async () => (await page.locator("[data-question]").count()) === 3);
    await page.keyboard.press("j");
    await page.evaluate(() => {
      for (let n = 0; n < 20; n += 1) {
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, repeat: n > 0, cancelable: true }));
      }
    });
    await until("one is answered", async () => (await page.locator("[data-question]").count()) === 2);
    await wait(900);
    assert.equal(await page.locator("[data-question]").count(), 2);
    await page.getByRole("button", { name: "Approve", exact: true }).first().click();
    await until("one is left", async () => (await page.locator("[data-question]").count()) === 1);
    await page.getByRole("button", { name: "Approve", exact: true }).first().click();
    await page.getByText("The page has just changed").waitFor({ state: "attached" });
    assert.equal(await page.locator("[data-question]").count(), 1);
    await wait(800);
    await page.getByRole("button", { name: "Approve", exact: true }).first().click();
    await page.getByText("Nobody waits for you").waitFor();
    for (const agent of asked) await site.status(agent, "succeeded");
    await page.context().close();
  },

  async "a call is approved once its arguments were seen to their end"() {
    const agent = await site.ask(`note ${"Long lines of things. ".repeat(600)}`);
    const { id } = await site.question(agent);
    const page = await site.page(`/console/q/${id}`, { viewport: { width: 1280, height: 500 } });
    await page.keyboard.press("j");
    await page.keyboard.press("a");
    await page.getByText("Read the arguments to their end first").waitFor({ state: "attached" });
    assert.equal((await site.api(`/v1/questions/${id}`)).status, "open");
    await wait(700);
    await page.keyboard.press("a");
    await page.getByText("Nobody waits for you").waitFor();
    await site.status(agent, "succeeded");
    await page.context().close();
  },

  async "the tree at its last event is what the screen shows, and time is walked by keyboard"() {
    const agent = await site.ask("spawn say one ; ask Two? ; fail");
    await until("its agents have worked", async () => (await site.api(`/v1/agents/${agent}/tree`)).agents === 4);
    await until("one asks", async () => (await site.api(`/v1/questions?status=open&root=${agent}`)).data.length === 1);
    await wait(500);
    const page = await site.page(`/console/trees/${agent}`);
    const rows = () => page.locator("tr.row").evaluateAll((all) => all.map((row) => `${row.id} ${row.querySelector(".state").textContent.trim()}`).sort());
    const now = await rows();
    const { last } = await site.api(`/v1/agents/${agent}/tree?at=1`);
    await page.goto(`${site.base}/console/trees/${agent}?at=${last}`);
    assert.deepEqual(await rows(), now);
    await page.keyboard.press(",");
    await page.waitForURL(`**?at=${last - 1}`);
    await page.keyboard.press(".");
    await page.waitForURL(`**?at=${last}`);
    await page.getByRole("slider").fill("1");
    await page.waitForURL("**?at=1");
    assert.equal((await rows()).length, 1);
    await page.context().close();
  },

  async "a page of another port can send no form"() {
    const agent = await site.ask("ask Is that you?");
    const page = `<form method="post" action="${site.base}/console/agents/${agent}/interventions">
      <input name="action" value="delete"><button>Win a prize</button></form>`;
    const other = http.createServer((_, response) => response.setHeader("content-type", "text/html").end(page));
    await new Promise((ready) => other.listen(0, "127.0.0.1", ready));
    const context = await site.browser.newContext();
    const evil = await context.newPage();
    await evil.goto(`http://127.0.0.1:${other.address().port}/`);
    const [answer] = await Promise.all([evil.waitForResponse((response) => response.url().includes("/interventions")), evil.getByRole("button").click()]);
    assert.equal(answer.status(), 403);
    assert.deepEqual((await site.api(`/v1/agents/${agent}/interventions`)).data, []);
    await context.close();
    other.close();
    await site.api(`/v1/agents/${agent}/interventions`, { action: "stop" });
  },

  async "hostile texts are shown and do nothing"() {
    const texts = [
      "<script>document.title='taken'</script>", "<img src=x onerror=\"document.title='taken'\">",
      "<a hx-get=/console/logout hx-trigger=load>x</a>", "\"><svg onload=\"document.title='taken'\">",
      "{{7*7}} {% raw %} ${7*7}", "javascript:document.title='taken'", "turned \u202e around \u200b nothing",
      "</main></body><h1>taken</h1>", "x' hx-trigger='load' hx-post='/console/agents'", "&lt;b&gt; & &amp;",
    ];
    for (const text of texts) {
      const agent = await site.ask(`say ${text}`);
      await site.status(agent, "succeeded");
      const page = await site.page(`/console/agents/${agent}`);
      await wait(50);
      assert.ok(!(await page.title()).startsWith("taken"), text);
      assert.equal(await page.locator("main script, main img, main svg, main [onerror], main a[hx-get]").count(), 0, text);
      const shown = await page.locator(".transcript").innerText();
      assert.ok(shown.includes(text.replace("\u202e", "⟨U+202E⟩").replace("\u200b", "⟨U+200B⟩")), `${text} in ${shown}`);
      await page.context().close();
    }
  },

  async "axe finds nothing on any page in light, dark, on a phone and on a desk"() {
    const [asks, notes] = [await site.ask("ask Which one? | this | that"), await site.ask("note Something.")];
    const tree = await site.ask("spawn ask Who? ; say done ; fail");
    await site.question(asks);
    await site.question(notes);
    await until("the tree is there", async () => (await site.api(`/v1/agents/${tree}/tree`)).agents === 4);
    const question = await site.question(asks);
    const [run] = (await site.api(`/v1/agents/${tree}/runs`)).data;
    const project = await site.api("/v1/projects", { name: "Trip" });
    const document = await site.api(`/v1/projects/${project.id}/documents`, { name: "Plan", content: "One\n\nTwo\n" });
    await fetch(`${site.base}/v1/documents/${document.id}`, { method: "PUT", body: JSON.stringify({ content: "One\n\nThree\n" }),
      headers: { "content-type": "application/json", "if-match": "*" } });
    const goal = await site.api("/v1/goals", { title: "See Rome" });
    const pages = ["", "/answered", "/grants", `/q/${question.id}`, "/trees", "/trees?text=nowhere", `/trees/${tree}`,
      `/trees/${tree}/events`, `/trees/${tree}?at=5`, "/agencies", `/agents/${tree}`, `/agents/${asks}`, "/nowhere", `/runs/${run.id}`, `/runs/${run.id}/requests/1`, "/documents",
      `/projects/${project.id}`, `/documents/${document.id}?v=2&with=1`, `/documents/${document.id}`, "/goals", `/goals/${goal.agent}`,
      "/memory", "/usage", "/kinds", "/kinds/general", "/server", "/server/settings"];
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [360, 1280]) {
        const page = await site.page("/console", { colorScheme, viewport: { width, height: 800 }, bypassCSP: true }, /404/);
        for (const path of pages) {
          await page.goto(`${site.base}/console${path}`);
          await page.evaluate(axe);
          const { violations } = await page.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
          const found = violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
          assert.deepEqual(found, [], `${path} ${colorScheme} ${width}`);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wide <= 0, `${path} is ${wide} px wider than ${width}`);
        }
        await page.context().close();
      }
    }
    for (const agent of [asks, notes, tree]) await site.api(`/v1/agents/${agent}/interventions`, { action: "stop" });
  },
};

let tried = 0;
let failed = 0;
const { ONLY: only, NOT: not } = process.env;
// What a test has left behind is in the way of the next.
const stopAll = async () => {
  for (const { agent } of (await site.api("/v1/questions?status=open")).data) {
    // One that ends with another needs no more.
    await site.api(`/v1/agents/${agent}/interventions`, { action: "stop" }).catch(() => {});
  }
};
for (const [name, test] of Object.entries(tests)) {
  if (only && !name.includes(only) || not && name.includes(not)) continue;
  tried += 1;
  const began = Date.now();
  site.found.length = 0;
  try {
    await test();
    assert.deepEqual(site.found, [], "what the browser objected to");
    console.log(`ok ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.stack}`);
  }
  for (const context of site.browser.contexts()) await context.close();
  await stopAll();
}
await site.close();
console.log(`${tried - failed} of ${tried} hold`);
process.exit(failed ? 1 : 0);
