// What a person writes is kept, whatever others do meanwhile, and what others do is seen.
import assert from "node:assert/strict";
import { posts, until, wait } from "./site.mjs";

export function drafts(site) {
  const put = (id, content, summary = "") => fetch(`${site.base}/v1/documents/${id}`, {
    method: "PUT", body: JSON.stringify({ content, summary }), headers: { "content-type": "application/json", "if-match": "*" },
  });
  // A document of a project of its own.
  const written = async (name, content) => {
    const project = await site.api("/v1/projects", { name });
    return (await site.api(`/v1/projects/${project.id}/documents`, { name: "Plan", content })).id;
  };
  const text = (page) => page.getByLabel("Text, as Markdown");
  const drafts = (page) => page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith("draft ")));

  return {
    async "a document that others change is seen as it is now, also in its form, unless somebody writes in that"() {
      const id = await written("Seen", "One");
      const page = await site.page(`/console/documents/${id}`);
      const list = await site.page("/console/documents");
      await page.getByText("Edit", { exact: true }).click();
      await put(id, "Two");
      await page.locator("article.item").getByText("Two").waitFor();
      assert.equal(await text(page).inputValue(), "Two");
      assert.equal(await page.locator("[name=seen]").inputValue(), "2");
      await text(page).fill("Two of mine");
      await put(id, "Three");
      await page.locator("article.item").getByText("Three").waitFor();
      assert.deepEqual([await text(page).inputValue(), await page.locator("[name=seen]").inputValue()], ["Two of mine", "2"]);
      await site.api("/v1/projects", { name: "Seen in the list" });
      await list.getByText("Seen in the list").waitFor();
      for (const one of [page, list]) await one.context().close();
    },

    async "what was written for an earlier version is kept beside the newer one, and saved on top of it on purpose"() {
      const id = await written("Conflict", "One");
      const page = await site.page(`/console/documents/${id}`, {}, /412/);
      const save = page.getByRole("button", { name: "Save", exact: true });
      for (const [theirs, ends] of [["Theirs", "mine"], ["Theirs again", "theirs"]]) {
        await page.getByText("Edit", { exact: true }).click();
        const mine = `Mine, and ${ends}`;
        await text(page).fill(mine);
        await page.getByLabel("What the change is about").fill("my words");
        await put(id, theirs, "by others");
        await save.click();
        await page.locator("#edit-form [data-failed]").getByText("It was changed meanwhile").waitFor();
        await page.locator("#edit-form ins").getByText(theirs).waitFor();
        assert.equal(await text(page).inputValue(), mine);
        assert.deepEqual(await posts(page, () => text(page).press("Control+Enter")), [], "it is not saved before that is wanted");
        if (ends === "mine") {
          await page.getByLabel("Save what I wrote on top of").check();
          await save.click();
          await page.getByText("Version 3 of 3").waitFor();
          assert.equal((await site.api(`/v1/documents/${id}`)).content, mine);
        } else {
          await page.getByRole("link", { name: "and let go what I wrote" }).click();
          await page.getByText("Version 4 of 4").waitFor();
          assert.equal(await text(page).inputValue(), theirs);
        }
        assert.deepEqual(await drafts(page), []);
      }
      await page.context().close();
    },

    async "what is being written is there after a reload, for its own version, until it is sent"() {
      const [asks, id] = [await site.ask("ask Where to?"), await written("Reload", "One")];
      const question = await site.question(asks);
      const page = await site.page(`/console/chats/${asks}`, {}, /412/);
      const answer = page.getByPlaceholder("Answer in words");
      const message = page.getByPlaceholder("Write to the agent");
      await answer.fill("To the sea, or");
      await message.fill("By the way");
      await page.reload();
      assert.deepEqual([await answer.inputValue(), await message.inputValue()], ["To the sea, or", "By the way"]);
      await page.goto(`${site.base}/console/q/${question.id}`);
      assert.equal(await answer.inputValue(), "To the sea, or");
      await wait(800);
      await answer.press("Control+Enter");
      await page.getByText("Nobody waits for you").waitFor();
      await page.goto(`${site.base}/console/chats/${asks}`);
      await message.press("Control+Enter");
      await page.locator(".message").getByText("By the way").waitFor();
      assert.deepEqual(await drafts(page), [], "what was sent is no draft");
      await page.reload();
      assert.equal(await message.inputValue(), "");

      await page.goto(`${site.base}/console/documents/${id}`);
      await page.getByText("Edit", { exact: true }).click();
      await text(page).fill("One and a half");
      await put(id, "Two");
      await page.reload();
      assert.equal(await text(page).inputValue(), "One and a half");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.locator("#edit-form").getByText("You began with version 1").waitFor();
      await text(page).fill("Two");
      await page.getByRole("link", { name: "and let go" }).click();
      await page.getByText("Version 2 of 2").waitFor();
      assert.deepEqual(await drafts(page), []);
      await page.context().close();
    },

    async "what was written for what is gone stays to be copied, also after a reload, until it is let go"() {
      const [id, asks] = [await written("Deleted", "One"), await site.ask("ask Whose turn?")];
      const question = await site.question(asks);
      const page = await site.page(`/console/documents/${id}`, {}, /404/);
      const kept = page.getByLabel("What you were writing").getByRole("textbox");
      await page.getByText("Edit", { exact: true }).click();
      await text(page).fill("Words of mine");
      await fetch(`${site.base}/v1/documents/${id}`, { method: "DELETE" });
      await until("its page says that it is gone", async () => (await text(page).count()) === 0);
      for (const isReloaded of [false, true]) {
        if (isReloaded) await page.reload();
        assert.equal(await kept.inputValue(), "Words of mine");
        assert.equal(await page.locator("#kept q").textContent(), "Plan");
      }
      await page.goto(`${site.base}/console/chats/${asks}`);
      assert.ok(await page.locator("#kept").isHidden(), "it is kept where it was written");
      await page.getByPlaceholder("Answer in words").fill("Mine, I think");
      await site.api(`/v1/questions/${question.id}/answer`, { answer: "Another's." });
      await page.locator(".answer").getByText("Another's.").waitFor();
      await page.reload();
      assert.equal(await kept.inputValue(), "Mine, I think");
      await page.getByRole("button", { name: "Let it go" }).click();
      await until("it is gone", async () => page.locator("#kept").isHidden());
      await page.reload();
      assert.ok(await page.locator("#kept").isHidden());
      await page.context().close();
    },

    async "choices are kept with the words, and words for an agent that ends stay to be copied"() {
      const page = await site.page("/console/chats");
      const composer = page.getByPlaceholder("Ask a new agent");
      await composer.fill("ask Are you general?");
      await page.getByLabel("With").selectOption("kind=general");
      await page.reload();
      assert.deepEqual([await composer.inputValue(), await page.getByLabel("With").inputValue()], ["ask Are you general?", "kind=general"]);
      await composer.press("Control+Enter");
      await page.locator(".asks").getByText("Are you general?").waitFor();
      const agent = new URL(page.url()).pathname.split("/").at(-1);
      assert.equal((await site.api(`/v1/agents/${agent}`)).kind, "general");
      await page.getByPlaceholder("Write to the agent").fill("Words for nobody");
      await site.api(`/v1/agents/${agent}/interventions`, { action: "delete" });
      await until("they are kept", async () => page.locator("#kept").isVisible());
      assert.equal(await page.locator("#kept textarea").inputValue(), "Words for nobody");
      await page.context().close();
    },

    async "an answer that takes no words is not given while there are some"() {
      const agent = await site.ask("note Careful.");
      const page = await site.page(`/console/q/${(await site.question(agent)).id}`);
      const reason = page.getByPlaceholder("Reason, or words in place");
      await reason.fill("only if it is short");
      await wait(800);
      assert.deepEqual(await posts(page, () => page.getByRole("button", { name: "Approve", exact: true }).click()), []);
      await page.locator("#said").getByText("Your words would be lost").waitFor();
      await reason.fill("");
      await page.getByRole("button", { name: "Approve", exact: true }).click();
      await site.status(agent, "succeeded");
      await page.context().close();
    },

    async "a change by others moves no field from under its writer, and what is refused is in view"() {
      const paragraphs = (count) => Array.from({ length: count }, (_, at) => `Paragraph ${at}.`).join("\n\n");
      const id = await written("Still", paragraphs(30));
      const page = await site.page(`/console/documents/${id}`, {}, /412/);
      await page.getByText("Edit", { exact: true }).click();
      await text(page).fill("Mine");
      const top = () => text(page).evaluate((field) => Math.round(field.getBoundingClientRect().top));
      for (const count of [60, 2]) {
        const before = await top();
        await put(id, paragraphs(count));
        await page.locator("article.item p").nth(count - 1).waitFor();
        await until("the page has as many paragraphs", async () => (await page.locator("article.item p").count()) === count);
        if (count > 2) assert.ok(Math.abs(await top() - before) <= 2, `${before} ${await top()}`);
        assert.ok(await text(page).evaluate((field) => field.getBoundingClientRect().bottom > 0 && field.getBoundingClientRect().top < innerHeight), "it is in view");
      }
      await put(id, paragraphs(80));
      await text(page).press("Control+Enter");
      const refused = page.locator("#edit-form [data-failed] h2").first();
      await refused.waitFor();
      assert.ok(await refused.evaluate((title) => title.getBoundingClientRect().top >= 0 && title.getBoundingClientRect().top < innerHeight), "it is in view");
      await page.context().close();
    },

    async "what is saved on top leaves alone what the person has not written"() {
      const id = await written("On top", "One");
      const page = await site.page(`/console/documents/${id}`, {}, /412/);
      const save = page.getByRole("button", { name: "Save", exact: true });
      await page.getByText("Edit", { exact: true }).click();
      await text(page).fill("Mine");
      await fetch(`${site.base}/v1/documents/${id}`, {
        method: "PUT", body: JSON.stringify({ name: "Their plan", standing_instruction: "Be brief." }),
        headers: { "content-type": "application/json", "if-match": "*" },
      });
      await save.click();
      await page.getByLabel("Save what I wrote on top of").check();
      await save.click();
      await page.getByText("Version 3 of 3").waitFor();
      const { name, content, standing_instruction } = await site.api(`/v1/documents/${id}`);
      assert.deepEqual({ name, content, standing_instruction },
        { name: "Their plan", content: "Mine", standing_instruction: "Be brief." });
      await page.context().close();
    },

    async "who leaves what has no room to be kept is asked first"() {
      const agent = await site.ask("hello");
      const page = await site.page(`/console/chats/${agent}`);
      const asked = [];
      page.on("dialog", (dialog) => { asked.push(dialog.type()); return dialog.accept(); });
      const words = page.getByLabel("Message", { exact: true });
      await page.evaluate(() => {
        for (let length = 1 << 23; length > 100; length >>= 1) {
          try { sessionStorage.setItem(`full ${length}`, "x".repeat(length)); } catch { /* It is full to that. */ }
        }
      });
      await words.click();
      await words.pressSequentially("more than there is room for");
      await page.locator("#said").getByText("too long to be kept").waitFor({ state: "attached" });
      await page.getByRole("link", { name: "Trees", exact: true }).click();
      await page.waitForURL(`${site.base}/console/trees`);
      assert.deepEqual(asked, ["beforeunload"]);
      await page.context().close();
    },

    async "the browser's way back brings no words back that were sent"() {
      const page = await site.page("/console/chats");
      await page.getByPlaceholder("Ask a new agent").fill("say it once");
      await page.getByPlaceholder("Ask a new agent").press("Control+Enter");
      await page.locator(".turn").getByText("it once").waitFor();
      await page.goBack();
      await page.getByRole("heading", { name: "Chats" }).waitFor();
      assert.equal(await page.getByPlaceholder("Ask a new agent").inputValue(), "");
      await page.context().close();
    },

    async "an empty answer is refused at its field, and a message says whether it answers"() {
      const agent = await site.ask("ask Which way?");
      const { id } = await site.question(agent);
      const page = await site.page(`/console/chats/${agent}`, {}, /422/);
      await wait(800);
      assert.ok(await page.locator("#composer").getByText("What you write here is read after that").isVisible());
      await page.getByRole("button", { name: "Answer", exact: true }).click();
      await page.locator("[data-answer] [data-failed]").getByText("the answer is empty").waitFor();
      assert.equal(await page.locator("#failed").textContent(), "");
      await site.api(`/v1/questions/${id}/answer`, { answer: "That one." });
      await until("its question is answered", async () => page.locator("#composer .asked").isHidden());
      await page.context().close();
    },

    async "keys that need a row say so, and the first row is the one that is seen first"() {
      for (const n of [1, 2]) await site.question(await site.ask(`ask Number ${n}?`));
      const tree = await site.ask("spawn say one ; say two");
      await until("its agents have worked", async () => (await site.api(`/v1/agents/${tree}/tree`)).agents === 3);
      const page = await site.page("/console");
      const inFocus = () => page.evaluate(() => document.activeElement.id);
      for (const [path, keys] of [["", ["1", "a", "d", "Enter"]], ["/trees", ["Enter"]], [`/trees/${tree}`, ["S", "p", "."]]]) {
        await page.goto(`${site.base}/console${path}`);
        for (const key of keys) {
          await page.evaluate(() => { document.getElementById("said").textContent = ""; });
          await page.keyboard.press(key);
          await page.locator("#said").getByText("Choose a row first").waitFor({ state: "attached" });
          assert.equal(await page.locator("dialog[open]").count(), 0, key);
        }
        const [first] = await page.locator("[data-rows] .row").evaluateAll((rows) => rows.map((row) => row.id));
        await page.keyboard.press("j");
        assert.equal(await inFocus(), first, path);
      }
      await page.goto(`${site.base}/console/agents/${tree}`);
      await page.keyboard.press("k");
      assert.match(await inFocus(), /^i\d+$/);
      await page.goto(`${site.base}/console/trees`);
      await page.keyboard.press(".");
      await page.locator("#said").getByText("Open an agent first").waitFor({ state: "attached" });
      assert.equal((await site.api("/v1/questions?status=open")).data.length, 2);
      await page.context().close();
    },

    async "an agent is paused by a button, and stopped by one that asks first"() {
      const agent = await site.ask("ask Shall I?");
      const page = await site.page(`/console/agents/${agent}`);
      const pause = page.getByRole("button", { name: "Pause", exact: true });
      await pause.click();
      await page.locator("button:enabled", { hasText: "Resume" }).waitFor();
      // A second click at the same place does not undo it.
      const { x, y, width, height } = await pause.boundingBox();
      await page.mouse.click(x + width / 2, y + height / 2);
      assert.equal((await site.api(`/v1/agents/${agent}`)).waiting_on, "resume");
      await page.getByRole("button", { name: "Stop…" }).click();
      assert.equal(await page.locator("#acts[open] #acts-action").inputValue(), "stop");
      await page.getByRole("button", { name: "Do it" }).click();
      await site.status(agent, "stopped");
      await until("nothing is at work", async () => (await pause.count()) === 0);
      await page.context().close();
    },

    async "a document is as wide as a phone, whatever it holds"() {
      const row = (word) => `|${Array.from({ length: 12 }, () => word).join("|")}|`;
      const id = await written("Wide", "One");
      await put(id, `${row("column")}\n${row("-")}\n${row("cell")}\n`, "a summary that goes on for as long as summaries may go on in a list");
      const page = await site.page(`/console/documents/${id}`, { viewport: { width: 360, height: 740 } });
      await page.getByText("Edit", { exact: true }).click();
      assert.ok(await page.locator(".markdown table").evaluate((table) => table.scrollWidth > table.clientWidth), "it is wide");
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
      await page.context().close();
    },
  };
}
