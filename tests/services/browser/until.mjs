// Waiting for what comes.
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

// What is promised, if it comes in time.
export async function within(what, promised, ms = 15_000) {
  let timer;
  const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error(`not within ${ms} ms: ${what}`)), ms); });
  return Promise.race([promised, late]).finally(() => clearTimeout(timer));
}

// The paths to which a page sends something while this is done. What it asks for afterwards is sent after all of that.
export async function posts(page, act) {
  const sent = [];
  const note = (request) => { if (request.method() === "POST") sent.push(new URL(request.url()).pathname); };
  page.on("request", note);
  await act();
  await page.evaluate(() => fetch("/healthz"));
  page.off("request", note);
  return sent;
}
