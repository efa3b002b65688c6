// The stream says what changed, and what is shown of that is asked for anew.
import { hold as holdTimes } from "./times.js";

const $ = (id) => document.getElementById(id);
const WATCHDOG = 40_000;
// A connection that has said nothing yet may hang, as in a tunnel.
const BEGINS = 10_000;
const HIDDEN = 5_000;
const LATEST = 10_000;

let source = null;
let failures = 0;
let dog = 0;
let retry = 0;
let lostAt = 0;
let lostTimer = 0;
let held = false;
let missed = false;
let asked = 0;
let open = 0;
let waiting = 0;

// At most once a second; what comes meanwhile is one request at its end.
function refresh() {
  const main = $("main");
  if (!main) return;
  if (held) { missed = true; return; }
  const left = asked + 1000 - Date.now();
  if (left > 0) {
    waiting ||= setTimeout(() => { waiting = 0; refresh(); }, left);
    return;
  }
  asked = Date.now();
  main.dispatchEvent(new CustomEvent("live"));
}

function concerned(news) {
  const live = $("main")?.dataset.live;
  if (live === "server") return !news.trees || news.server.length > 0;
  if (!news.trees || live === "all") return live !== "nothing";
  return news.trees.some((tree) => tree.root === live);
}

function count(known) {
  open = known;
  const text = open >= 200 ? "200+" : String(open);
  const badge = $("open-questions");
  badge.hidden = open === 0;
  badge.textContent = text;
  const title = `${$("main")?.dataset.title ?? ""} · Entourage`;
  document.title = open ? `(${text}) ${title}` : title;
}

// A browser has six connections for a server: more windows than these wait for one of them.
const WINDOWS = 5;
let giveUp = null;
let turn = 0;

// What gives the place up again, or null if there is none.
async function place() {
  if (!navigator.locks) return () => {};
  for (let n = 0; n < WINDOWS; n += 1) {
    const release = await new Promise((taken) => {
      navigator.locks.request(`entourage-window-${n}`, { ifAvailable: true }, (lock) => {
        if (!lock) return taken(null);
        return new Promise((ends) => taken(ends));
      });
    });
    if (release) return release;
  }
  return null;
}

function found() {
  failures = 0;
  clearTimeout(lostTimer);
  lostTimer = 0;
  lostAt = 0;
  $("lost").hidden = true;
  holdTimes(held);
}

function lost() {
  lostAt ||= Date.now();
  // A restart takes less than this.
  lostTimer ||= setTimeout(() => {
    $("lost").textContent = `No connection since ${new Date(lostAt).toLocaleTimeString()}. What you see is from then.`;
    $("lost").hidden = false;
    holdTimes(true);
  }, 3000);
}

function watch(patience = WATCHDOG) {
  clearTimeout(dog);
  dog = setTimeout(again, patience);
}

function close() {
  clearTimeout(dog);
  clearTimeout(retry);
  source?.close();
  source = null;
  giveUp?.();
  giveUp = null;
}

function again() {
  close();
  lost();
  failures += 1;
  const most = Math.min(LATEST, 1000 * 2 ** Math.min(failures - 1, 4));
  retry = setTimeout(connect, most * (0.5 + Math.random() / 2));
}

async function connect() {
  close();
  if (document.hidden) return;
  const mine = ++turn;
  const release = await place();
  if (mine !== turn || document.hidden) return release?.();
  giveUp = release;
  if (!release) {
    $("lost").textContent = "This is one window too many to be kept current: close one, or look at it again later.";
    $("lost").hidden = false;
    retry = setTimeout(connect, LATEST);
    return;
  }
  const follow = document.querySelector("[data-follow]")?.dataset.follow;
  source = new EventSource(`/console/live${follow ? `?follow=${follow}` : ""}`);
  source.onerror = () => {
    // The server has refused it: what is shown is asked for, which says why. A page that is left hears the same, but no
    // longer its timers.
    if (source?.readyState === EventSource.CLOSED) setTimeout(refresh);
    again();
  };
  const on = (name, handle) => source.addEventListener(name, (event) => {
    watch();
    handle(JSON.parse(event.data));
  });
  on("hello", (hello) => {
    found();
    count(hello.open_questions);
    $("renewed").hidden = hello.assets === document.body.dataset.assets;
    document.dispatchEvent(new Event("console:stream"));
    if ($("main")?.dataset.live !== "nothing") refresh();
  });
  on("news", (news) => {
    count(news.open_questions);
    if (concerned(news)) refresh();
  });
  on("delta", (delta) => document.dispatchEvent(new CustomEvent("console:delta", { detail: delta })));
  on("beat", () => {});
  watch(BEGINS);
}

export function hold(is) {
  held = is;
  holdTimes(is);
  const button = $("hold");
  button.setAttribute("aria-pressed", String(is));
  button.textContent = is ? "Held" : "Hold";
  if (!is && missed) {
    missed = false;
    refresh();
  }
}

$("hold").addEventListener("click", () => hold(!held));
export const isHeld = () => held;

// A refresh that failed is tried with the next hint, or after a while.
document.addEventListener("htmx:error", (event) => {
  if (event.target.id === "main") again();
});

// An answer to a refresh that began before the page showed something else would bring the old page back.
document.addEventListener("htmx:before:response", (event) => {
  const { target, detail: { ctx } } = event;
  if (target.id !== "main" || ctx.request.action === target.getAttribute("hx-get")) return;
  event.preventDefault();
  refresh();
});

document.addEventListener("htmx:after:swap", () => count(open));

let hiddenTimer = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(close, HIDDEN);
  else if (!source) connect();
});
document.addEventListener("console:connect", connect);
addEventListener("online", connect);
addEventListener("pagehide", close);
addEventListener("pageshow", (event) => { if (event.persisted) connect(); });

connect();
