// A server with a scripted provider, and browsers that must find nothing wrong.
import { spawn } from "node:child_process";
import fs from "node:fs";
import { chromium } from "playwright-core";
import { provider } from "./provider.mjs";

const KIND = `---
name: general
description: Does general work.
tools: [create_note, ask_user, spawn_agent, wait]
approval: [{ tools: create_note }]
peers: [general]
---
You do what you are told.
`;

export const wait = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, condition, ms = 15_000) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await condition().catch(() => null);
    if (found) return found;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await wait(50);
  }
}

export class Site {
  constructor(binary, data, port) {
    Object.assign(this, { binary, data, port, base: `http://127.0.0.1:${port}`, found: [] });
  }

  static async open(binary, data, port, chromiumPath) {
    const site = new Site(binary, data, port);
    fs.mkdirSync(`${data}/kinds`, { recursive: true });
    fs.writeFileSync(`${data}/kinds/general.md`, KIND);
    site.provider = await provider();
    await site.start();
    site.browser = await chromium.launch({
      executablePath: chromiumPath,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync"],
    });
    return site;
  }

  async start() {
    this.server = spawn(this.binary, ["--data", this.data, "serve", "--bind", `127.0.0.1:${this.port}`], {
      env: { ...process.env, ENTOURAGE_MODEL: "compatible::scripted", COMPATIBLE_BASE_URL: this.provider.url },
      stdio: ["ignore", "ignore", fs.openSync(`${this.data}/server.log`, "a")],
    });
    await until("the server listens", async () => (await fetch(`${this.base}/healthz`)).ok);
  }

  async kill() {
    const ended = new Promise((done) => this.server.once("exit", done));
    this.server.kill("SIGKILL");
    await ended;
  }

  async close() {
    await this.browser?.close();
    await this.kill();
    this.provider.close();
  }

  async api(path, body) {
    const response = await fetch(this.base + path, body === undefined ? {} : {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer;
  }

  // Asks a new agent, and returns its id.
  async ask(message) {
    return (await this.api("/v1/agents", { kind: "general", message })).id;
  }

  async status(agent, status) {
    return until(`${agent} is ${status}`, async () => (await this.api(`/v1/agents/${agent}`)).status === status);
  }

  // An open question of this agent.
  async question(agent) {
    return until(`${agent} asks`, async () => (await this.api(`/v1/questions?status=open&agent=${agent}`)).data[0]);
  }

  // A page in a browser of its own. What the browser objects to is a failure of the test, but for what it `expects`.
  async page(path, options = {}, expects = /$^/) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
    const object = (text) => { if (!expects.test(text)) this.found.push(`${path}: ${text}`); };
    page.on("console", (message) => { if (message.type() === "error") object(message.text()); });
    page.on("pageerror", (error) => object(error.message));
    await page.goto(this.base + path);
    return page;
  }
}
