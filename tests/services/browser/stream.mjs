// A real browser follows an exploration with `EventSource` while the server ends and starts again: every chunk comes once.
import { spawn } from 'node:child_process';
import { chromium } from 'playwright-core';

const [program, data, port, browser] = process.argv.slice(2);
const site = `http://127.0.0.1:${port}`;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

let server;
async function serve() {
  server = spawn(program, ['--data', data, 'serve', '--bind', `127.0.0.1:${port}`], { stdio: 'ignore' });
  for (let tries = 0; tries < 300; tries += 1) {
    if (await fetch(`${site}/healthz`).then((answer) => answer.ok, () => false)) return;
    await wait(100);
  }
  throw new Error('the server did not come up');
}
async function end(signal) {
  const ended = new Promise((done) => server.once('exit', done));
  server.kill(signal);
  await ended;
}
async function until(what, holds) {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await holds()) return;
    await wait(100);
  }
  throw new Error(`not within a minute: ${what}`);
}

await serve();
const chrome = await chromium.launch({ executablePath: browser, args: ['--no-sandbox'] });
try {
  const page = await chrome.newPage();
  await page.goto(`${site}/openapi.json`);
  // As a page of the server's own site does it: with a token, and with nothing else that knows where it was.
  await page.evaluate(async () => {
    const made = await fetch('/agent/stream-token', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"agentId": "scout"}',
    });
    const { token } = await made.json();
    window.chunks = []; window.ids = []; window.opened = 0;
    const address = `/agent/stream?prompt=Look&agentId=scout&token=${token}`;
    window.source = new EventSource(address);
    window.source.onopen = () => { window.opened += 1; };
    window.source.onmessage = ({ data, lastEventId }) => {
      window.chunks.push(JSON.parse(data)); window.ids.push(lastEventId);
    };
  });
  const chunks = () => page.evaluate(() => window.chunks);
  const has = async (type) => (await chunks()).some((chunk) => chunk.type === type);
  await until('the agent asks', () => has('user-query'));
  const before = (await chunks()).length;
  // Once in order, once as a crash does it.
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    await end(signal);
    const opened = await page.evaluate(() => window.opened);
    await serve();
    await until('the browser has reconnected', () => page.evaluate((opened) => window.opened > opened, opened));
  }
  if ((await chunks()).length !== before) throw new Error('a reconnect sent what had been sent');
  const answered = await page.evaluate(async () => {
    const answer = await fetch('/agent/scout/answer', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"response": "approve"}',
    });
    return answer.json();
  });
  if (answered.success !== true) throw new Error(JSON.stringify(answered));
  await until('the stream is over', () => has('finish'));
  // The browser reconnects, is told that there is no more, and stops.
  await until('the browser stops', () => page.evaluate(() => window.source.readyState === EventSource.CLOSED));
  const [seen, ids] = [await chunks(), await page.evaluate(() => window.ids)];
  if (new Set(ids).size !== ids.length) throw new Error('a chunk came twice');
  const whole = await fetch(`${site}/agent/stream?agentId=scout`, { headers: { 'last-event-id': '' } });
  // Without anything to explore the ended agent is followed, and none is started.
  await whole.text();
  const agents = (await (await fetch(`${site}/v1/agents?roots=true`)).json()).data;
  if (whole.status !== 200 || agents.length !== 1) throw new Error(`${whole.status}, ${agents.length} agents`);
  const first = await fetch(`${site}/agent/stream`, { headers: { 'last-event-id': ids[0] } });
  const lines = (await first.text()).split('\n').filter((line) => line.startsWith('data: '));
  const rest = lines.map((line) => JSON.parse(line.slice(6)));
  const text = (all) => all.filter((chunk) => chunk.type === 'text-delta').map((chunk) => chunk.textDelta).join('');
  const kinds = (all) => all.map((chunk) => chunk.type).filter((type) => type !== 'text-delta' && type !== 'reasoning');
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  if (!same(kinds(seen.slice(1)), kinds(rest)) || text(seen) !== text(rest)) {
    throw new Error(`the browser saw something else:\n${kinds(seen)}\n${kinds(rest)}`);
  }
  console.log(`${seen.length} chunks, each once, over two restarts`);
} finally {
  await chrome.close();
  if (server.exitCode === null && server.signalCode === null) await end('SIGTERM');
}
