// How a call is decided in a real browser: what Enter sends, what a form and its JSON have in common, and when.
import assert from "node:assert/strict";
import { posts, wait } from "./site.mjs";

const CALL = { hotel: "Forum", nights: 2 };

export function editing(site) {
  // A page with a call that waits for approval, and its arguments as they can be edited.
  const asked = async (given = CALL, options = {}) => {
    const agent = await site.ask(`book ${JSON.stringify(given)}`);
    const { id } = await site.question(agent);
    const page = await site.page(`/console/q/${id}`, options, /422/);
    await page.locator("[data-edit] summary").click();
    const field = (name) => page.locator(`[data-argument="${name}"]`);
    const json = page.getByLabel("Arguments, as JSON");
    const change = (to) => page.getByRole("radio", { name: to === "json" ? "as JSON" : "in a form" }).click();
    const isOpen = async () => (await site.api(`/v1/questions/${id}`)).status === "open";
    // What the tool was given.
    const called = async (wanted) => {
      await site.status(agent, "succeeded");
      await page.goto(`${site.base}/console/agents/${agent}`);
      const shown = await page.locator(".turn").getByText("It came back:").innerText();
      assert.deepEqual(JSON.parse(/\{[^}]*\}/.exec(shown)[0]), wanted, shown);
    };
    return { agent, page, field, json, change, isOpen, called };
  };
  // What a script says for all to hear.
  const said = (page, text) => page.locator("#said").getByText(text).waitFor({ state: "attached" });

  return {
    async "Enter in a field sends what was edited, with scripts and without"() {
      for (const javaScriptEnabled of [true, false]) {
        for (const from of ["nights", "edit_as"]) {
          const { page, field, called } = await asked(CALL, { javaScriptEnabled });
          await field("hotel").fill("Central");
          await field("nights").fill("5");
          const focused = from === "nights" ? field("nights") : page.getByRole("radio", { name: "in a form" });
          await Promise.all([page.waitForResponse((response) => response.url().endsWith("/answer")), focused.press("Enter")]);
          await called({ hotel: "Central", nights: 5 });
          await page.context().close();
        }
      }
    },

    async "Enter and Ctrl+Enter in the words of a question approve nothing"() {
      const { page, agent } = await asked();
      const words = page.getByPlaceholder("Reason, or words");
      await words.fill("Full");
      assert.deepEqual(await posts(page, () => words.press("Enter")), [], "Enter begins a line");
      await words.fill("It is full.");
      await words.press("Control+Enter");
      await page.getByText("Nobody waits for you").waitFor();
      await site.status(agent, "succeeded");
      await page.goto(`${site.base}/console/agents/${agent}`);
      await page.getByLabel("Output").getByText("It is full.").waitFor({ state: "attached" });
      await page.context().close();
    },

    async "what was written in one view is in the other, as it was written"() {
      const { page, field, json, change, called } = await asked();
      await field("price").fill("12.50");
      await field("hotel").fill("a\u202eb");
      await change("json");
      assert.equal(await json.inputValue(), '{\n  "hotel": "a\\u202eb",\n  "nights": 2,\n  "price": 12.50\n}');
      await json.fill('{"hotel": "One\\ntwo", "nights": 3, "price": 1.250e1, "class": "second", "constructor": "me"}');
      await change("form");
      const shown = await page.locator("[data-argument]").evaluateAll((all) => all.map((one) => [one.dataset.argument, one.value]));
      assert.deepEqual(Object.fromEntries(shown), { hotel: "One\ntwo", nights: "3", price: "1.250e1", class: '"second"', constructor: "me" });
      await page.getByRole("button", { name: "Approve with these" }).click();
      await page.getByText("Nobody waits for you").waitFor();
      await called({ hotel: "One\ntwo", nights: 3, price: 12.5, class: "second", constructor: "me" });
      await page.context().close();
    },

    async "what does not fit into the other view stays where it is, with what was written"() {
      const { page, field, json, change } = await asked();
      const view = () => page.evaluate(() => [document.querySelector("[name=edit_as]:checked").value,
        ...[".as-form", ".as-json"].map((part) => getComputedStyle(document.querySelector(part)).display !== "none")]);
      await field("hotel").fill("Mine");
      for (const wrong of ["two", '3, "hotel": "Other"', "0x10", "NaN"]) {
        await field("nights").fill(wrong);
        await change("json");
        await said(page, "“nights” is not a number");
        assert.deepEqual(await view(), ["form", true, false], wrong);
        assert.deepEqual([await field("hotel").inputValue(), await field("nights").inputValue()], ["Mine", wrong]);
      }
      await field("nights").fill("3");
      await change("json");
      for (const wrong of ['{"hotel": "Other", "nights": 4,', '{"hotel": "Other", "nights": 4, "nights": 5}', '{"hotel": "Other", "nights": "4"}',
        '{"hotel": "Other", "nights": 4, "stars": 1}', '{"hotel": "Other", "nights": [4]}', '{"hotel": "\\u200b", "nights": 4}',
        '{"hotel": 4, "nights": 4}', '{"nights": 4}', '{"hotel": "Other", "nights": 4, "class": "third"}', "[]", '{"hotel": "Other", "nights": null}']) {
        await json.fill(wrong);
        await change("form");
        await said(page, "it stays as it is");
        assert.deepEqual(await view(), ["json", false, true], wrong);
        assert.equal(await json.inputValue(), wrong);
        assert.deepEqual([await field("hotel").inputValue(), await field("nights").inputValue()], ["Mine", "3"], wrong);
      }
      await page.context().close();
    },

    async "numbers that cannot be kept and names that are there twice are refused where they stand"() {
      const { page, field, json, change, isOpen, called } = await asked();
      const send = () => page.getByRole("button", { name: "Approve with these" }).click();
      const refused = async (text) => {
        await page.locator("[data-edit] [data-failed]").getByText(text).waitFor();
        // The row has moved.
        await wait(800);
      };
      await field("price").fill("0.30000000000000000001");
      await send();
      await refused("would become 0.3");
      assert.equal(await field("price").inputValue(), "0.30000000000000000001");
      await field("price").fill("");
      await field("hotel").fill("Fo\u200brum");
      await send();
      await refused("U+200B");
      await field("hotel").fill("Forum");
      await change("json");
      await json.fill('{"hotel": "a", "hotel": "b", "nights": 1}');
      await send();
      await refused("has `hotel` twice");
      assert.ok(await isOpen());
      await json.fill('{"hotel": "a", "nights": 1}');
      await send();
      await page.getByText("Nobody waits for you").waitFor();
      await called({ hotel: "a", nights: 1 });
      await page.context().close();
    },

    async "nothing is answered on a page that has just come into view"() {
      const { page, isOpen, called } = await asked();
      const approve = page.getByRole("button", { name: "Approve", exact: true });
      for (const [target, name] of [["window", "pageshow"], ["window", "focus"], ["document", "visibilitychange"]]) {
        await wait(800);
        await page.evaluate(([on, event]) => {
          window[on].dispatchEvent(new Event(event));
          document.querySelector("[data-approves]").click();
          document.querySelector("[value=edit]").click();
        }, [target === "window" ? "window" : "document", name]);
        await said(page, "The page has just come into view");
        assert.ok(await isOpen(), name);
      }
      const other = await page.context().newPage();
      await other.goto(page.url(), { waitUntil: "commit" });
      await other.locator("[data-approves]").first().waitFor({ state: "attached" });
      const { x, y } = await other.locator("[data-approves]").first().boundingBox();
      assert.deepEqual(await posts(other, () => other.mouse.click(x + 5, y + 5)), [], "a click as soon as it is drawn");
      await other.close();
      await page.bringToFront();
      await wait(800);
      await approve.click();
      await page.getByText("Nobody waits for you").waitFor();
      await called(CALL);
      await page.context().close();
    },
  };
}
