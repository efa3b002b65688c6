// The console in a real browser: `node console.mjs BINARY DATA PORT CHROMIUM [LONG]`.
import assert from "node:assert/strict";
import http from "node:http";
import { drafts } from "./drafts.mjs";
import { editing } from "./editing.mjs";
import { keys } from "./keys.mjs";
import { links } from "./links.mjs";
import { logins } from "./logins.mjs";
import { lookThrough } from "./look.mjs";
import { HOSTILE, posts, Site, until, wait } from "./site.mjs";

const [binary, data, port, chromiumPath, long] = process.argv.slice(2);
const site = await Site.open(binary, data, Number(port), chromiumPath);
const REFRESHES = long ? 1000 : 100;
const OFFLINE = (long ? 600 : 60) * 1000;
// What a browser says of a server that is away.
const AWAY = /ERR_|Failed to load resource|Failed to fetch|network error/;

// What acts in a text of others.
const ACTS = "main script, main img, main svg:not(.chart, .waterfall, .legend svg), main [onerror], main a[hx-get], .markdown [class], .markdown [id], .markdown a[href^='/'], .markdown a[href^='javascript']";

const tests = {
  async "axe finds nothing where there is nothing to show"() {
    await lookThrough(site, ["", "/answered", "/grants", "/trees", "/chats", "/runs", "/documents", "/goals", "/tasks", "/feed", "/schedules",
      "/webhooks", "/webhooks/crm", "/memory", "/usage", "/agencies", "/server"]);
  },

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

  async "what cannot be seen is written as its code, while it comes as in the turn"() {
    const agent = await site.ask("say begun");
    await site.status(agent, "succeeded");
    const page = await site.page(`/console/chats/${agent}`);
    // The first and the last of what shows nothing, or acts, with its neighbours; and signs that are joined, or are not.
    const edges = [0x7f, 0x9f, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180f, 0x200b, 0x200e, 0x200f, 0x2028, 0x202e,
      0x2060, 0x206f, 0x2800, 0x3164, 0xe000, 0xf8ff, 0xfdd0, 0xfdef, 0xfe00, 0xfe0d, 0xfeff, 0xffa0, 0xfff0, 0xfffb, 0xffff, 0x13430,
      0x1343f, 0x1bca0, 0x1bca3, 0x1d173, 0x1d17a, 0x1fffe, 0xe0000, 0xe0041, 0xeffff, 0x10ffff];
    const around = edges.flatMap((edge) => [edge - 1, edge, edge + 1]).filter((at) => at <= 0x10ffff && (at < 0xd800 || at > 0xdfff));
    const joined = "A\u{e0041}\u{e0042}B\u3164C\u2800D\u200dE\ufe00F \u0645\u200c\u0646\u200d\u0645 x\u200cy 👩\u200d🚀 ❤\ufe0f\u200d🔥 1\ufe0f 1\ufe0f\u200d🔥 x\ufe0f";
    const text = around.map((at) => `x${String.fromCodePoint(at)}y`).join("") + joined;
    await page.getByPlaceholder("Write to the agent").fill(`write ${text} pauses and ends`);
    await page.keyboard.press("Control+Enter");
    await page.locator("#stream").getByText("pauses").waitFor();
    const whole = (seen) => seen.replaceAll(/\s+/g, " ").trim();
    const came = whole(await page.locator("#stream .spoken").textContent());
    await page.locator(".turn").getByText("and ends").waitFor();
    const turn = whole(await page.locator(".turn").last().locator(".markdown").textContent());
    assert.ok(came.includes("A⟨U+E0041⟩⟨U+E0042⟩B⟨U+3164⟩C⟨U+2800⟩D⟨U+200D⟩E⟨U+FE00⟩F"), came);
    assert.ok(turn.startsWith(came), `${came}\n${turn}`);
    await page.context().close();
  },

  async "a server that is killed and comes back is noticed, without a reload and without losing a draft"() {
    const agent = await site.ask("ask Before or after?");
    await site.question(agent);
    const slow = await site.ask("slow 400");
    const tree = await site.page(`/console/trees/${agent}`, {}, AWAY);
    const page = await site.page(`/console/agents/${slow}`, {}, AWAY);
    const declines = await site.page("/console", {}, AWAY);
    for (const other of [tree, page]) await other.evaluate(() => { window.isFirst = true; });
    await page.locator("#stream").getByText("word3").waitFor();
    const draft = page.getByPlaceholder("Write to the agent");
    await draft.fill("not sent yet");
    await site.kill();
    await page.getByText("No connection since").waitFor();
    await draft.press("Control+Enter");
    await page.getByText("Your text is still here").waitFor();
    assert.equal(await draft.inputValue(), "not sent yet");
    await declines.getByRole("button", { name: "Decline" }).first().click();
    await declines.getByText("Nothing was sent: try again").waitFor();
    assert.equal(await declines.locator("#said").textContent(), "", "what has not arrived is not called sent");
    await site.start();
    for (const other of [tree, page]) await until("it is connected", async () => other.locator("#lost").isHidden(), 20_000);
    for (const other of [declines, page]) await until("that it was away is past", async () => (await other.locator("#failed .problem").count()) === 0, 20_000);
    await declines.context().close();
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
    for (const word of ["second", "third", "fourth"]) await page.locator(".turn").getByText(word).waitFor({ timeout: 40_000 });
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
    await two.getByPlaceholder("Answer in words").fill("Or three times");
    await two.getByRole("button", { name: "Answer", exact: true }).click();
    await two.locator("[data-answer] [data-failed]").getByText("answered already").waitFor();
    await two.locator("[data-answer] [data-failed]").getByText("once").waitFor();
    assert.equal(await two.locator("#said").textContent(), "", "what was refused is not called sent");
    await two.getByRole("button", { name: "Held" }).click();
    await two.locator(".answer").getByText("answered").waitFor();
    assert.equal(await two.locator("#kept textarea").inputValue(), "Or three times");
    for (const page of [one, two]) await page.context().close();
  },

  async "what was being written stays when another window answers the question"() {
    const agent = await site.ask("ask Whose words are these?");
    const { id } = await site.question(agent);
    const page = await site.page("/console");
    await page.getByPlaceholder("Answer in words").fill("Words of mine, half a");
    await site.api(`/v1/questions/${id}/answer`, { answer: "Another's." });
    await page.getByText("Nobody waits for you").waitFor();
    const kept = page.getByLabel("What you were writing").getByRole("textbox");
    assert.equal(await kept.inputValue(), "Words of mine, half a");
    await page.locator("#kept").getByText("Whose words are these?").waitFor();
    await page.getByRole("button", { name: "Let it go" }).click();
    await until("it is gone", async () => page.locator("#kept").isHidden());
    const own = await site.ask("ask And these?");
    await page.getByText("And these?", { exact: true }).waitFor();
    await page.getByPlaceholder("Answer in words").fill("Mine.");
    await page.keyboard.press("Control+Enter");
    await site.status(own, "succeeded");
    await page.getByText("Nobody waits for you").waitFor();
    assert.ok(await page.locator("#kept").isHidden(), "an own answer is not kept");
    await page.context().close();
  },

  async "a chat is begun, steered, asked and tried again by keyboard, and its text is marked up once it is whole"() {
    const page = await site.page("/console");
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await page.waitForURL("**/console/chats");
    await page.keyboard.press("n");
    await until("the first message can be written", async () => (await page.evaluate(() => document.activeElement.id)) === "composer-text");
    await page.keyboard.type("write It is **quite blue** now.");
    await page.keyboard.press("Tab");
    await page.keyboard.type("general");
    await page.keyboard.press("Control+Enter");
    await page.waitForURL("**/console/chats/agt_*");
    const agent = page.url().split("/").at(-1);
    await page.locator("#stream").getByText("It is **quite").waitFor();
    await page.locator(".turn strong").getByText("quite blue").waitFor();
    await until("the pieces are gone", async () => page.locator("#stream").isHidden());
    await page.getByPlaceholder("Write to the agent").fill("ask Which one? | this | that");
    await page.keyboard.press("Control+Enter");
    await page.locator("[data-question]").getByText("Which one?").waitFor();
    await page.locator("[data-question]").focus();
    await wait(700);
    await page.keyboard.press("2");
    await page.getByText("what was answered").waitFor();
    assert.ok(page.url().endsWith(`/console/chats/${agent}`) && await page.locator("header.agent").count(), "the chat stays");
    await page.getByPlaceholder("Write to the agent").fill("say steered");
    await page.keyboard.press("Alt+Enter");
    await until("it was steered", async () => (await site.api(`/v1/agents/${agent}/interventions`)).data.some((done) => done.action === "steer"));
    await site.status(agent, "succeeded");
    await page.getByPlaceholder("Write to the agent").fill("fail");
    await page.keyboard.press("Control+Enter");
    await page.locator(".item.notice.error").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await until("it was tried again", async () => (await site.api(`/v1/agents/${agent}/interventions`)).data.some((done) => done.action === "retry"));
    await until("it has failed again", async () => (await page.locator(".item.notice.error").count()) === 2);
    await page.context().close();
  },

  async "a form says what is wrong where it stands, and leads to what it has made"() {
    const page = await site.page("/console/goals", {}, /422/);
    await page.getByText("New goal").click();
    await page.getByLabel("It in a few words").fill("   ");
    await page.getByRole("button", { name: "Make it" }).click();
    await page.locator(".below [data-failed]").getByText("the name is empty").waitFor();
    await page.getByLabel("What is to be reached").fill("A week in May");
    await page.getByLabel("It in a few words").fill("See Naples");
    await page.keyboard.press("Control+Enter");
    await page.waitForURL("**/console/goals/agt_*");
    await page.locator("#main .text").getByText("A week in May").waitFor();
    await page.context().close();
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
    await page.locator("tr.row.succeeded").getByText("say found").first().waitFor();
    await site.api("/v1/agents", { kind: "general", parent: agent, message: "ask Mine?" });
    await page.locator("tr.row.waiting").getByText("ask Mine?").first().waitFor();
    await page.locator(`#${agent}`).focus();
    await page.keyboard.press("S");
    await page.locator("#acts-warning").getByText("that of 1 agent that it has set to work. 1 agent below it goes on; tick the box").waitFor();
    await page.locator("#acts-below input").check();
    await page.locator("#acts-warning").getByText("that of 2 agents below it at work.").waitFor();
    await page.locator("#acts-below input").uncheck();
    await page.locator("#acts-action").selectOption("delete");
    await page.locator("#acts-warning").getByText("with 3 agents below it.").waitFor();
    await page.locator("#acts-action").selectOption("stop");
    await page.locator("#acts-action").focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator("#said").getByText("with 1 agent that it has set to work. Below it 1 agent goes on.").waitFor({ state: "attached" });
    await until("it was stopped", async () => (await site.api(`/v1/agents/${agent}/interventions`)).data.some((done) => done.action === "stop"));
    await until("the dialog is closed", async () => (await page.locator("#acts[open]").count()) === 0);
    await page.keyboard.press("?");
    await page.locator("#keys[open]").waitFor();
    assert.deepEqual(await page.locator("#keys").evaluate((keys) => [keys.scrollTop, document.activeElement.id]), [0, "keys-title"]);
    await page.keyboard.press("Escape");
    await page.locator(`#${agent}`).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/console/agents/${agent}`);
    await page.context().close();
  },

  async "words that are typed once a chat is open are words, and an end is confirmed on purpose"() {
    const page = await site.page("/console/chats");
    const inFocus = () => page.evaluate(() => document.activeElement.id);
    const acts = async (agent) => (await site.api(`/v1/agents/${agent}/interventions`)).data.map((done) => done.action);
    await page.keyboard.press("n");
    await until("the first message can be written", async () => (await inFocus()) === "composer-text");
    await page.keyboard.type("say **Loud** `words`");
    await page.keyboard.press("Tab");
    await page.keyboard.type("general");
    await page.keyboard.press("Control+Enter");
    await page.waitForURL("**/console/chats/agt_*");
    const agent = page.url().split("/").at(-1);
    await until("the next message can be written", async () => (await inFocus()) === "composer-text");
    await page.keyboard.type("Do Say something");
    await page.keyboard.press("Control+Enter");
    await page.locator(".message").getByText("Do Say something").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("D");
    await page.locator("#acts[open]").waitFor();
    assert.ok(await page.locator("#acts-text").isHidden(), "a deletion takes no words");
    await page.keyboard.press("Control+Enter");
    await page.getByText("to confirm").waitFor({ state: "attached" });
    assert.ok(await page.locator("#acts[open]").count());
    assert.deepEqual(await acts(agent), []);
    await page.keyboard.press("Escape");
    await page.keyboard.press("c");
    await page.keyboard.type("For people.");
    await page.keyboard.press("Control+Enter");
    await until("it is on record", async () => (await acts(agent)).join() === "comment");
    await until("the dialog is closed", async () => (await page.locator("#acts[open]").count()) === 0);
    await page.keyboard.press("p");
    await page.locator("#acts[open]").waitFor();
    const [box, words] = await page.locator("#acts-below").evaluate((label) => {
      const range = document.createRange();
      range.selectNodeContents(label.lastChild);
      return [label.querySelector("input"), range].map((part) => part.getBoundingClientRect()).map(({ top, bottom }) => (top + bottom) / 2);
    });
    assert.ok(Math.abs(box - words) < 3, `the box is at ${box}, its label at ${words}`);
    await page.keyboard.press("Escape");
    await page.goto(`${site.base}/console/chats`);
    await page.locator(`#${agent}`).getByText("You said: Do Say something").waitFor();
    await page.locator(`#${agent}`).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console/chats/agt_*");
    await until("a message can be written", async () => (await inFocus()) === "composer-text");
    await page.goto(`${site.base}/console/trees`);
    await page.getByPlaceholder("Ask a new agent").fill("say begun");
    await page.keyboard.press("Control+Enter");
    await page.waitForURL("**/console/agents/agt_*");
    await until("the next message can be written", async () => (await inFocus()) === "composer-text");
    await page.locator("#composer").getByPlaceholder("Write to the agent").fill("say more");
    await page.locator("#composer").getByRole("button", { name: "Send", exact: true }).click();
    await until("who has clicked writes on", async () => (await inFocus()) === "composer-text");
    await page.context().close();
  },

  async "an answer is an option or words, and never one of them in silence"() {
    const agent = await site.ask("ask How many? | twenty | thirty");
    const { id } = await site.question(agent);
    const page = await site.page(`/console/q/${id}`);
    await page.getByLabel("twenty").check();
    await page.getByPlaceholder("Answer in words").fill("rather twenty-two");
    assert.ok(!await page.getByLabel("twenty").isChecked(), "who writes has taken the option back");
    await page.getByPlaceholder("Answer in words").press("Control+Enter");
    await page.getByText("Nobody waits for you").waitFor();
    assert.equal((await site.api(`/v1/questions/${id}`)).answer, "rather twenty-two");
    await page.context().close();
  },

  async "an agent that has ended for good is offered no message"() {
    const agent = await site.ask("say **Bold** words");
    await site.status(agent, "succeeded");
    const list = await site.page("/console/chats");
    assert.equal((await list.locator(`#${agent} > p`).textContent()).trim(), "Bold words");
    await list.context().close();
    const page = await site.page(`/console/agents/${agent}`);
    await page.locator("#composer").waitFor();
    await site.api(`/v1/agents/${agent}/interventions`, { action: "delete" });
    await page.getByText("It has ended for good").waitFor();
    assert.ok(await page.locator("#composer").isHidden());
    await page.keyboard.press("S");
    await page.locator("#said").getByText("It has ended for good").waitFor({ state: "attached" });
    for (const path of [`/console/agents/${agent}`, `/console/chats/${agent}`]) {
      await page.goto(site.base + path);
      assert.equal(await page.locator("#composer").count(), 0);
    }
    await page.context().close();
  },

  async "who is at the end of a growing answer stays there, and what a stop has broken off is said"() {
    const agent = await site.ask("say begun");
    await site.status(agent, "succeeded");
    const page = await site.page(`/console/chats/${agent}`, { viewport: { width: 600, height: 400 } });
    const left = () => page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY);
    await page.getByPlaceholder("Write to the agent").fill(`say ${"Line after line.\n".repeat(60)}`);
    await page.keyboard.press("Control+Enter");
    await page.locator(".turn").getByText("Line after line").waitFor();
    await until("the end of it is in view", async () => (await left()) < 8);
    await page.getByPlaceholder("Write to the agent").fill("slow 1000");
    await page.keyboard.press("Control+Enter");
    await page.locator("#stream").getByText("word100 ").waitFor();
    await until("the end is in view", async () => (await left()) < 8);
    await page.mouse.wheel(0, -600);
    await until("what came before is in view", async () => (await left()) > 300);
    await page.locator("#stream").getByText("word140 ").waitFor();
    assert.ok((await left()) > 300, "who reads what came before is left there");
    await site.api(`/v1/agents/${agent}/interventions`, { action: "stop" });
    await page.getByText("It broke off here").waitFor();
    assert.ok((await page.locator("#stream .spoken").textContent()).includes("word140 "));
    assert.equal(await page.locator("#said").textContent(), "The answer has broken off.");
    // The pieces of a turn that only asks may be lost.
    await page.evaluate(() => document.addEventListener("console:delta", (event) => event.stopImmediatePropagation(), true));
    await page.getByPlaceholder("Write to the agent").fill("ask Who? | you | me");
    await page.keyboard.press("Control+Enter");
    await page.locator("[data-question]").waitFor();
    await until("the pieces are gone", async () => page.locator("#stream").isHidden());
    assert.notEqual(await page.locator("#said").textContent(), "The answer is complete.");
    await page.context().close();
  },

  async "a wide table is scrolled where it stands, and a refused link is no link"() {
    const row = (word) => `|${Array.from({ length: 30 }, () => word).join("|")}|`;
    const agent = await site.ask(`say ${row("column")}\n${row("-")}\n${row("[one](javascript:alert)")}`);
    await site.status(agent, "succeeded");
    for (const width of [360, 1280]) {
      const page = await site.page("/console", { viewport: { width, height: 800 } });
      for (const path of ["agents", "chats"]) {
        await page.goto(`${site.base}/console/${path}/${agent}`);
        const table = page.locator(".turn table");
        await table.waitFor();
        assert.ok(await table.evaluate((table) => table.scrollWidth > table.clientWidth), "it is wide");
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} at ${width}`);
      }
      const colours = await page.locator(".turn .markdown").evaluate((text) => [text, text.querySelector("td a")].map((part) => getComputedStyle(part).color));
      assert.equal(colours[0], colours[1]);
      await page.context().close();
    }
  },

  async "Esc leads from a tree to all trees, and from a level to the one above"() {
    const root = await site.ask("spawn spawn say deep");
    await until("its agents have worked", async () => (await site.api(`/v1/agents/${root}/tree`)).agents === 3);
    const [child] = (await site.api(`/v1/agents/${root}/children`)).data;
    const page = await site.page(`/console/trees/${root}?of=${child.id}`);
    await page.keyboard.press("Escape");
    await page.waitForURL(`**/console/trees/${root}?of=${root}`);
    await page.keyboard.press("Escape");
    await page.waitForURL("**/console/trees");
    await page.goto(`${site.base}/console/trees/${root}/events`);
    await page.keyboard.press("Escape");
    await page.waitForURL(`**/console/trees/${root}`);
    await page.keyboard.press("Escape");
    await page.waitForURL("**/console/trees");
    await page.context().close();
  },

  async "a version that is brought back by two clicks is brought back once"() {
    const project = await site.api("/v1/projects", { name: "Twice" });
    const document = await site.api(`/v1/projects/${project.id}/documents`, { name: "Plan", content: "One" });
    await fetch(`${site.base}/v1/documents/${document.id}`, { method: "PUT", body: JSON.stringify({ content: "Two" }),
      headers: { "content-type": "application/json", "if-match": "*" } });
    const page = await site.page(`/console/documents/${document.id}?v=1`);
    const sent = await posts(page, async () => {
      await page.getByRole("button", { name: "Bring this version back" }).dblclick();
      await page.getByText("Version 3 of 3").waitFor();
    });
    assert.deepEqual(sent, [`/console/documents/${document.id}/undo`]);
    assert.equal(await page.locator("#failed").textContent(), "");
    await page.context().close();
  },

  async "a refresh that began before an action does not bring the old page back"() {
    const project = await site.api("/v1/projects", { name: "Late" });
    const document = await site.api(`/v1/projects/${project.id}/documents`, { name: "Plan", content: "One" });
    await fetch(`${site.base}/v1/documents/${document.id}`, { method: "PUT", body: JSON.stringify({ content: "Two" }),
      headers: { "content-type": "application/json", "if-match": "*" } });
    const page = await site.page(`/console/documents/${document.id}?v=1`);
    const live = `/console/f/documents/${document.id}?v=1`;
    let letGo;
    const late = new Promise((done) => { letGo = done; });
    // Its own answer, of before the action, without the digest by which it would be left out.
    await page.route((url) => url.pathname + url.search === live, async (route) => {
      const answer = await route.fetch({ headers: { ...route.request().headers(), "if-none-match": "" } });
      await late;
      await route.fulfill({ response: answer });
    });
    const begun = page.waitForRequest((request) => request.url().endsWith(live));
    await page.evaluate(() => document.getElementById("main").dispatchEvent(new CustomEvent("live")));
    await begun;
    await page.getByRole("button", { name: "Bring this version back" }).click();
    await page.getByText("Version 3 of 3").waitFor();
    const answered = page.waitForResponse((response) => response.url().endsWith(live));
    letGo();
    await answered;
    const next = page.waitForResponse((response) => response.url().endsWith(`/console/f/documents/${document.id}`));
    await page.evaluate(() => document.getElementById("main").dispatchEvent(new CustomEvent("live")));
    await next;
    await page.getByText("Version 3 of 3").waitFor();
    await page.context().close();
  },

  async "a call is approved only as it was shown, with arguments that a person has edited"() {
    const agent = await site.ask("note The lighthouse is red.");
    const { id } = await site.question(agent);
    const page = await site.page(`/console/q/${id}`);
    await page.keyboard.press("j");
    await page.keyboard.press("e");
    assert.equal(await page.evaluate(() => document.activeElement.name), "argument.title");
    await page.getByLabel("content").fill("It is green.");
    await page.getByRole("radio", { name: "as JSON" }).check();
    const json = page.getByLabel("Arguments, as JSON");
    assert.deepEqual(JSON.parse(await json.inputValue()), { title: "The lighthouse is red.", content: "It is green." });
    await json.fill('{"title": "Lighthouse", "content": "It is white."}');
    await page.getByRole("radio", { name: "in a form" }).check();
    assert.equal(await page.getByLabel("content").inputValue(), "It is white.");
    await page.getByLabel("content").press("Control+Enter");
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
    const sent = await posts(page, async () => {
      await page.evaluate(() => {
        for (let n = 0; n < 20; n += 1) {
          document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, repeat: n > 0, cancelable: true }));
        }
      });
      await until("one is answered", async () => (await page.locator("[data-question]").count()) === 2);
    });
    assert.equal(sent.length, 1, `${sent}`);
    // Until the rows have stood still for long enough.
    await wait(800);
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
    assert.deepEqual(await posts(page, () => page.keyboard.press("a")), [], "nobody reads that in so short a time");
    await wait(1000);
    await page.keyboard.press("a");
    await page.getByText("Nobody waits for you").waitFor();
    assert.equal(new URL(page.url()).pathname, "/console", "the inbox has its own address");
    await page.goBack();
    await page.locator(".answer").getByText("answered").waitFor();
    await site.status(agent, "succeeded");
    await page.context().close();
  },

  async "the tree at its last event is what the screen shows, and time is walked by keyboard"() {
    const agent = await site.ask("spawn say one ; ask Two? ; fail");
    await until("its agents have worked", async () => (await site.api(`/v1/agents/${agent}/tree`)).agents === 4);
    const states = async () => (await site.api(`/v1/agents/${agent}/children`)).data.map((child) => child.status).sort().join();
    await until("each has come to something", async () => (await states()) === "failed,succeeded,waiting");
    await site.status(agent, "succeeded");
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
    const code = (text) => text.replace("\u202e", "⟨U+202E⟩").replace("\u200b", "⟨U+200B⟩");
    const plain = (text) => [text, code(text)];
    const texts = [
      "<script>document.title='taken'</script>", "<img src=x onerror=\"document.title='taken'\">",
      "<a hx-get=/console/logout hx-trigger=load>x</a>", "\"><svg onload=\"document.title='taken'\">",
      "{{7 * 7}} {% raw %} ${7 * 7}", "javascript:document.title='taken'", "turned \u202e around \u200b nothing",
      "</main></body><h1>taken</h1>", "x' hx-trigger='load' hx-post='/console/agents'",
    ].map(plain).concat([
      ["&lt;b&gt; &amp; &#x202e;turned", "<b> & ⟨U+202E⟩turned"],
      ["![seen](http://127.0.0.1:9/seen.png)", "seen"],
      ["[one](javascript:document.title='taken') [two](/console/logout)", "one two"],
      ["<div hx-get='/console' hx-trigger='load'>**bold**</div>", "<div hx-get='/console' hx-trigger='load'>**bold**</div>"],
    ]);
    for (const [text, seen] of texts) {
      const agent = await site.ask(`say ${text}`);
      await site.status(agent, "succeeded");
      for (const path of [`/console/agents/${agent}`, `/console/chats/${agent}`]) {
        const page = await site.page(path);
        assert.ok(!(await page.title()).startsWith("taken"), text);
        assert.equal(await page.locator(ACTS).count(), 0, text);
        const shown = await page.locator(".transcript").innerText();
        assert.ok(shown.includes(seen), `${seen} in ${shown}`);
        await page.context().close();
      }
    }
    assert.deepEqual(site.asked.filter((url) => url.includes("seen.png")), []);
  },

  async "hostile names and descriptions are shown and do nothing"() {
    const project = await site.api("/v1/projects", { name: HOSTILE, description: HOSTILE });
    const document = await site.api(`/v1/projects/${project.id}/documents`, { name: HOSTILE, content: HOSTILE });
    const goal = await site.api("/v1/goals", { title: HOSTILE, description: HOSTILE });
    await site.api("/v1/schedules", { agent: goal.agent, trigger: "look", text: HOSTILE, first: "2099-01-01T00:00:00Z" });
    const books = await site.ask(`book ${JSON.stringify({ hotel: HOSTILE, nights: 2 })}`);
    const { id } = await site.question(books);
    const run = await site.run(books, 1);
    const page = await site.page("/console");
    for (const [path, shows] of [["/documents", true], [`/projects/${project.id}`, true], [`/documents/${document.id}`, true],
      ["/goals", true], [`/goals/${goal.agent}`, true], ["/chats", true], ["/trees"], ["/tasks"], ["/schedules", true], ["/kinds", true],
      ["/kinds/ceo", true], ["/agencies", true], ["/agencies/studio", true], [`/q/${id}`, true], [`/agents/${books}`, true],
      [`/runs/${run.id}`], [`/runs/${run.id}/requests/1`, true]]) {
      await page.goto(`${site.base}/console${path}`);
      assert.ok(!(await page.title()).startsWith("taken"), path);
      assert.equal(await page.locator(ACTS).count(), 0, path);
      if (shows) assert.ok((await page.locator("main").textContent()).includes("<img src=seen.png"), `${path} shows it`);
    }
    assert.deepEqual(site.asked.filter((url) => url.includes("seen.png")), []);
    await page.context().close();
  },

  ...drafts(site),
  ...editing(site),
  ...keys(site),
  ...links(site),
  ...logins(site),

  async "axe finds nothing on any page in light, dark, on a phone and on a desk"() {
    const [asks, notes] = [await site.ask("ask Which one? | this | that"), await site.ask("note Something.")];
    const tree = await site.ask("spawn ask Who? ; say **Done** ; fail");
    const [failed, twice] = [await site.ask("fail"), await site.ask("spawn say once")];
    await site.question(asks);
    await site.question(notes);
    await until("the tree is there", async () => (await site.api(`/v1/agents/${tree}/tree`)).agents === 4);
    await site.status(failed, "failed");
    const question = await site.question(asks);
    const noted = await site.question(notes);
    const run = await site.run(twice, 2);
    const [version] = (await site.api("/v1/kinds/general/versions")).data;
    const project = await site.api("/v1/projects", { name: "Trip" });
    const document = await site.api(`/v1/projects/${project.id}/documents`, { name: "Plan", content: "# One\n\n### Two\n\n|a|b|\n|-|-|\n|1|2|\n\n```\ncode\n```\n\n> [out](https://example.org)\n" });
    await fetch(`${site.base}/v1/documents/${document.id}`, { method: "PUT", body: JSON.stringify({ content: "One\n\nThree\n" }),
      headers: { "content-type": "application/json", "if-match": "*" } });
    const goal = await site.api("/v1/goals", { title: "See Rome" });
    const schedule = { agent: goal.agent, trigger: "look", text: "What is new?", first: "2099-01-01T00:00:00Z" };
    await site.api("/v1/schedules", schedule);
    const me = await site.api("/v1/user_agent");
    await site.api(`/v1/agents/${me.id}/triggers`, { name: "feed_generation" });
    await until("the feed is written", async () => (await site.api(`/v1/sessions?agent=${me.id}`)).data.length === 1);
    await lookThrough(site, ["", "/answered", "/grants", `/q/${question.id}`, `/q/${noted.id}`, "/trees", "/trees?text=nowhere", `/trees/${tree}`,
      `/trees/${tree}/events`, `/trees/${tree}?at=5`, "/agencies", "/agencies/studio", `/agents/${tree}`, `/agents/${asks}`, ["/nowhere", 404], ["/agents/agt_1", 400],
      "/chats", "/chats?text=nowhere", `/chats/${tree}`, `/chats/${asks}`, `/chats/${failed}`, `/chats/${goal.agent}`,
      "/runs", "/runs?kind=nobody", `/runs?agent=${tree}`, `/runs/${run.id}`, `/runs/${run.id}/requests/1`, `/runs/${run.id}/requests/2?with=1`,
      "/documents", `/projects/${project.id}`, `/documents/${document.id}?v=2&with=1`, `/documents/${document.id}`,
      `/documents/${document.id}?v=1`, "/goals", `/goals/${goal.agent}`, "/tasks", "/tasks?status=idle", "/feed", "/schedules",
      "/schedules?status=ended", "/webhooks", "/webhooks/crm", "/webhooks/crm?status=delivered", "/memory", "/usage", "/kinds",
      "/kinds/general", `/kinds/general/${version.version}`, "/server", "/server/doctor", "/server/settings"]);
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
  site.asked.length = 0;
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
