// What the console costs a browser, by hand: `node budgets.mjs BENCHES CHROMIUM [REFRESHES]`. BENCHES serves a tree of 100,000
// agents, some of which work after a line of input: a thousand events a second.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { until, wait, within } from "./until.mjs";

const [benches, executablePath, refreshes = "500"] = process.argv.slice(2);
const LOOKED_AT = 20_000;
const TIMES = 20;

const server = spawn(benches, ["serve-console"], { stdio: ["pipe", "pipe", "inherit"] });
process.once("exit", () => server.kill());
const said = new Promise((line) => createInterface({ input: server.stdout }).once("line", line));
const [base, root] = (await within("the server listens", said, 120_000)).split(" ");
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--js-flags=--expose-gc", "--enable-precise-memory-info"],
});
const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
// The tasks of a page that hold it up, and since when they count.
await page.addInitScript(() => {
  window.tasks = [];
  new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((task) => task.duration))).observe({ type: "longtask" });
});
const cdp = await page.context().newCDPSession(page);
const tell = (method, parameters) => within(method, cdp.send(method, parameters), 60_000);
const evaluate = (what, task, argument) => within(what, page.evaluate(task, argument));
await tell("Performance.enable");
const metric = async (name) => (await tell("Performance.getMetrics")).metrics.find((metric) => metric.name === name).value;
const at95 = (times) => times.sort((one, other) => one - other)[Math.ceil(times.length * 0.95) - 1];
let missed = 0;
const line = (what, value, must, unit) => {
  if (!(value <= must)) missed += 1;
  console.log(`${value <= must ? "must  " : "MISSED"} ${what}: ${value.toFixed(2)} ${unit}, must ${must}`);
};

// The first paint, with a CPU four times as slow.
await tell("Emulation.setCPUThrottlingRate", { rate: 4 });
for (const [what, path] of [["a tree of 100,000 agents", `/console/trees/${root}`], ["the inbox with 1,000 questions", "/console"]]) {
  const paints = [];
  for (let n = 0; n < TIMES; n += 1) {
    await page.goto(base + path);
    paints.push(await until("a paint", () => page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime)));
  }
  line(`first paint of ${what}, 95th percentile`, at95(paints), 300, "ms");
}
await tell("Emulation.setCPUThrottlingRate", { rate: 1 });

// From the request of whoever answers a question to the count of those that are open in its tree, with time before for the
// page to rest.
await page.goto(`${base}/console/trees/${root}`);
const api = async (path, body) => {
  const sent = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(base + path, { ...sent, signal: AbortSignal.timeout(15_000) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
};
const shown = [];
for (const { id } of (await api(`/v1/questions?status=open&root=${root}&limit=${TIMES}`)).data) {
  await wait(1500);
  await evaluate("the page is watched", () => {
    const count = () => document.querySelector("#main a.open").textContent;
    const before = count();
    window.seenAt = new Promise((seen) => {
      const watched = new MutationObserver(() => {
        if (count() === before) return;
        watched.disconnect();
        // The frame after the one with the change begins once that is painted.
        requestAnimationFrame(() => requestAnimationFrame(() => seen(performance.timeOrigin + performance.now())));
      });
      watched.observe(document.body, { childList: true, subtree: true, characterData: true });
    });
  });
  const answered = performance.timeOrigin + performance.now();
  await api(`/v1/questions/${id}/answer`, { answer: "The first one." });
  shown.push(await evaluate("the page shows the answer", () => window.seenAt) - answered);
}
line("from an answer that is sent, by its commit, to pixels, 95th percentile", at95(shown), 600, "ms");

// The CPU of a window on the tree, idle and while it works: of all threads of its process.
const processes = await browser.newBrowserCDPSession();
const used = async () => {
  const { processInfo } = await within("processes", processes.send("SystemInfo.getProcessInfo"), 60_000);
  return processInfo.filter((process) => process.type === "renderer").reduce((sum, process) => sum + process.cpuTime, 0);
};
const share = async () => {
  const [before, time] = [await used(), Date.now()];
  await wait(LOOKED_AT);
  return 100 * (await used() - before) / ((Date.now() - time) / 1000);
};
await page.goto(`${base}/console/trees/${root}`);
await wait(2000);
line("CPU of an idle window", await share(), 0.2, "% of a core");
server.stdin.write("\n");
await wait(3000);
const before = await page.locator("#main").textContent();
await evaluate("tasks count from now on", () => { window.tasks = []; });
line("CPU of a window at 1,000 events a second", await share(), 10, "% of a core");
line("its longest task", Math.max(0, ...await evaluate("its tasks", () => window.tasks)), 200, "ms");
if (await page.locator("#main").textContent() === before) throw new Error("nothing changed on the page");

// What a window keeps: as many refreshes as a day of work brings, as fast as they go.
const heap = async () => {
  await tell("HeapProfiler.collectGarbage");
  return await metric("JSHeapUsedSize") / (1 << 20);
};
const started = await heap();
const nodes = await metric("Nodes");
let asked = 0;
page.on("response", (response) => { asked += Number(response.url().includes("/console/f") && response.status() === 200); });
while (asked < Number(refreshes)) {
  const last = asked;
  await until("the page is refreshed", async () => {
    await page.evaluate(() => document.getElementById("main").dispatchEvent(new CustomEvent("live")));
    await wait(30);
    return asked > last;
  });
}
line(`heap of a window after ${asked} refreshes, more than before`, await heap() - started, 10, "MB");
console.log(`       DOM nodes ${nodes} before, ${await metric("Nodes")} after`);
await within("the browser closes", browser.close());
process.exit(missed ? 1 : 0);
