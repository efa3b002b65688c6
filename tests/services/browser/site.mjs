// A server with a scripted provider, and browsers that must find nothing wrong.
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { provider } from "./provider.mjs";
import { posts, until, wait } from "./until.mjs";

// A text that would take a page over, if it were more than a text.
export const HOSTILE = "<img src=seen.png onerror=\"document.title='taken'\">";

const KIND = `---
name: general
description: Does general work.
tools: [create_note, ask_user, spawn_agent, wait, mcp__rooms]
approval: [{ tools: create_note }, { tools: rooms__book }]
peers: [general]
---
You do what you are told.
`;

// An agency, whose kinds and purpose are described by somebody hostile.
const AGENCY = {
  "ceo.md": `---\nname: ceo\ndescription: '${HOSTILE.replaceAll("'", "''")}'\n---\nDecide.\n`,
  "developer.md": "---\nname: developer\ndescription: Writes.\n---\nWrite.\n",
  "studio.agency.md": `---\nname: studio\ndescription: '${HOSTILE.replaceAll("'", "''")}'\nentry_points: ceo\nflows:\n  - ceo > developer\n---\nBe brief.\n`,
};

// Nobody listens there.
const SETTINGS = `[[tools.mcp]]
name = "rooms"
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(fileURLToPath(new URL("tools.mjs", import.meta.url)))}]
owners = ["*"]
[webhooks.crm]
url = "http://127.0.0.1:9/hook"
secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
`;

// By which tokens are signed where a login is needed.
const KEY = "a secret of thirty-two bytes and more";
const LOGIN = `[server.auth.jwt]
algorithm = "HS256"
key = "${KEY}"
operator = "ann"
`;

export { posts, until, wait };

// The token of an owner, good for an hour.
export function token(sub) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub, exp: Math.floor(Date.now() / 1000) + 3600 })}`;
  return `${signed}.${createHmac("sha256", KEY).update(signed).digest("base64url")}`;
}

// Nothing is answered on a page that has just come.
const SETTLED = 800;

export class Site {
  constructor(binary, data, port) {
    Object.assign(this, { binary, data, port, base: `http://127.0.0.1:${port}`, found: [], asked: [] });
  }

  static async open(binary, data, port, chromiumPath) {
    const site = new Site(binary, data, port);
    site.write(SETTINGS);
    site.provider = await provider();
    await site.start();
    site.browser = await chromium.launch({
      executablePath: chromiumPath,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync"],
    });
    return site;
  }

  write(settings) {
    fs.mkdirSync(`${this.data}/kinds`, { recursive: true });
    for (const [name, text] of Object.entries({ "general.md": KIND, ...AGENCY })) fs.writeFileSync(`${this.data}/kinds/${name}`, text);
    fs.writeFileSync(`${this.data}/entourage.toml`, settings);
  }

  // A server beside this one, where a login is needed. It has the same browser, which is to find nothing wrong there, too.
  async guarded() {
    if (this.beside) return this.beside;
    const free = net.createServer().listen(0, "127.0.0.1");
    await new Promise((ready) => free.once("listening", ready));
    const { port } = free.address();
    await new Promise((done) => free.close(done));
    this.beside = new Site(this.binary, `${this.data}/guarded`, port);
    this.beside.write(SETTINGS + LOGIN);
    const { browser, provider, found } = this;
    Object.assign(this.beside, { browser, provider, found });
    await this.beside.start();
    return this.beside;
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
    await this.beside?.kill();
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

  // A run of this agent in which its model has answered so many calls.
  async run(agent, calls) {
    return until(`${agent} has made ${calls} calls`, async () =>
      (await this.api(`/v1/agents/${agent}/runs`)).data.find((run) => run.model_calls >= calls));
  }

  // An open question of this agent.
  async question(agent) {
    return until(`${agent} asks`, async () => (await this.api(`/v1/questions?status=open&agent=${agent}`)).data[0]);
  }

  // A page in a browser of its own, on which questions can be answered. What the browser objects to is a failure of the test, but for what it `expects`.
  async page(path, options = {}, expects = /$^/) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
    const object = (text) => { if (!expects.test(text)) this.found.push(`${path}: ${text}`); };
    page.on("console", (message) => { if (message.type() === "error") object(message.text()); });
    page.on("pageerror", (error) => object(error.message));
    page.on("request", (request) => this.asked.push(request.url()));
    await page.goto(this.base + path);
    if (/^\/console($|\/q\/)/.test(path)) await wait(SETTLED);
    return page;
  }
}
