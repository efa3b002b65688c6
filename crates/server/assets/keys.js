import { open as act } from "./act.js";
import { hold, isHeld } from "./live.js";
import { say } from "./say.js";

const $ = (id) => document.getElementById(id);
const ACTS = { p: "pause", s: "steer", m: "modify", c: "comment", R: "retry", S: "stop", D: "delete" };
// What answers does so once for each press, and not while the next question comes into focus.
const ANSWERS = /^[1-9aAdv]$/;
const REST = 500;
let after = "";
let pressed = -REST;

const on = $("keys-on");
on.checked = localStorage.getItem("keys") !== "off";
on.addEventListener("change", () => localStorage.setItem("keys", on.checked ? "on" : "off"));

// They are read from their beginning.
export function showKeys() {
  $("keys").showModal();
  $("keys-title").focus();
}

const rows = () => [...document.querySelectorAll("[data-rows] :is(.row, .item)")];
const current = () => document.activeElement?.closest(".row, .item");

// Keys that need a row, and the rows that have them.
const OF_ROWS = [[/^[1-9aAderw]$/, "[data-question]"], [/^Enter$/, "[data-rows] [data-open]"], [/^[psmcRSD.]$/, "tr[data-agent]"]];

function move(by) {
  const all = rows();
  const at = all.indexOf(current());
  const top = (row) => row.getBoundingClientRect().top;
  // From no row: the first one in view, or the last one.
  const begins = by > 0 ? all.findIndex((row) => top(row) > 0) : all.findLastIndex((row) => top(row) < innerHeight);
  all[at < 0 ? Math.max(0, begins) : Math.min(all.length - 1, Math.max(0, at + by))]?.focus();
}

function press(row, selector) {
  const button = row?.querySelector(selector);
  if (!button) return false;
  button.click();
  return true;
}

function question(key, row) {
  const words = row.querySelector("[data-words]");
  if (/^[1-9]$/.test(key)) {
    const option = row.querySelectorAll('[name="option"]')[Number(key) - 1];
    if (!option) return false;
    option.checked = true;
    return press(row, '[value="say"]');
  }
  switch (key) {
    case "w":
      words?.focus();
      delete row.dataset.rejects;
      return Boolean(words);
    case "r":
      if (!row.querySelector('[value="reject"]')) return false;
      words?.focus();
      row.dataset.rejects = "";
      return true;
    case "A": {
      const always = row.querySelector("[data-always]");
      if (!always) return false;
      always.open = true;
      always.querySelector("button").focus();
      return true;
    }
    case "e": {
      const edit = row.querySelector("[data-edit]");
      if (!edit) return false;
      edit.open = true;
      [...edit.querySelectorAll("textarea, select, input:not([type=radio])")].find((field) => field.offsetParent)?.focus();
      return true;
    }
    default:
      return press(row, `[data-key="${CSS.escape(key)}"]`);
  }
}

// Browsers copy by TLS or from this machine alone.
async function copy(link) {
  try {
    await navigator.clipboard.writeText(link);
    say("The link is copied.");
  } catch {
    say("The browser lets nothing be copied here.");
  }
}

function go(key) {
  const link = document.querySelector(`.bar [data-key="${CSS.escape(key)}"]`);
  link?.click();
  return Boolean(link);
}

function handle(key) {
  if (after === "g") {
    after = "";
    return go(key);
  }
  const row = current();
  if (ANSWERS.test(key) && performance.now() - pressed < REST) return true;
  if (row && "question" in row.dataset && question(key, row)) {
    if (ANSWERS.test(key)) pressed = performance.now();
    return true;
  }
  if (row && key === "v" && press(row, '[data-key="v"]')) return true;
  const step = document.querySelector(`[data-step="${CSS.escape(key)}"]`);
  if (step) {
    step.click();
    return true;
  }
  if (key in ACTS && act(ACTS[key])) return true;
  if (!row && OF_ROWS.some(([keys, has]) => keys.test(key) && document.querySelector(has))) {
    say("Choose a row first, with j or k.");
    return true;
  }
  switch (key) {
    case "g":
      after = "g";
      setTimeout(() => { after = ""; }, 1500);
      return true;
    case "j": move(1); return true;
    case "k": move(-1); return true;
    case "?": showKeys(); return true;
    case "h": hold(!isHeld()); return true;
    case ".":
      if (!act()) say("Open an agent first.");
      return true;
    case "y":
      copy(new URL(row?.dataset.open ?? location, location).href);
      return true;
    case "/": {
      const filter = document.querySelector("[data-filter]");
      if (filter) filter.focus();
      else say("This page has no filter.");
      return Boolean(filter);
    }
    case "Enter":
      if (document.activeElement !== row || !row) return false;
      if (row.dataset.open) location.href = row.dataset.open;
      else row.querySelector("summary")?.click();
      return true;
    case "Escape":
      if (row) { row.blur(); $("main").focus(); } else [...document.querySelectorAll(".crumbs a:not([data-beside])")].at(-1)?.click();
      return true;
    default:
      return false;
  }
}

document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.("input, textarea, select");
  if (field) {
    const form = field.form;
    if (event.key === "Escape" && !field.closest("dialog")) { (field.closest(".row") ?? $("main")).focus(); event.preventDefault(); }
    if (event.key === "Enter" && form && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      // Keys that were meant as words may have opened a dialog: its choice alone does nothing.
      if ("acts" in form.dataset && !field.matches("textarea")) return say("Press “Do it” to confirm.");
      const row = field.closest("[data-question]");
      const rejects = row && "rejects" in row.dataset ? '[value="reject"]' : null;
      const edits = field.closest("[data-edit]") ? '[value="edit"]' : null;
      // Words are an answer: they press no button that stands before them.
      const wanted = [edits, rejects, '[value="say"]', ".primary", "button"].filter(Boolean);
      form.requestSubmit(wanted.map((selector) => form.querySelector(selector)).find(Boolean));
    } else if (event.key === "Enter" && event.altKey) {
      const steer = form?.querySelector('[name="steer"]');
      if (steer) { form.requestSubmit(steer); event.preventDefault(); }
    }
    return;
  }
  if (!on.checked || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  if (event.repeat && !["j", "k"].includes(event.key)) return event.preventDefault();
  if (handle(event.key)) event.preventDefault();
});

let next = null;
document.addEventListener("htmx:before:request", (event) => {
  const row = event.target.closest?.("[data-answer]")?.closest(".row");
  if (!row) return;
  const all = rows();
  const at = all.indexOf(row);
  next = { answered: row.id, ids: [...all.slice(at + 1), ...all.slice(0, at).reverse()].map((other) => other.id) };
});
// What was refused, or has not arrived, is no answer.
document.addEventListener("htmx:after:request", (event) => {
  if (!event.target.closest?.("[data-answer]")) return;
  const { status } = event.detail.ctx.response;
  if (status >= 200 && status < 300) say("Your answer is sent.");
  else next = null;
});
document.addEventListener("htmx:error", (event) => {
  if (event.target.closest?.("[data-answer]")) next = null;
});
document.addEventListener("htmx:after:swap", () => {
  if (!next || $(next.answered)) return;
  const found = next.ids.map($).find(Boolean);
  (found ?? $("main")).focus();
  next = null;
});
