// Nobody approves what they have not seen: an answer is taken from a row that stands still, to its end in view, on a page
// that was there before.

import { say } from "./say.js";

// The style of the buttons has the same time, for pages without scripts.
const SETTLED = 700;
// For how long the end of arguments to which a key has led is in view until it counts as read.
const READ = 1500;
// Answers that take no words.
const WORDLESS = ["approve", "approve_always", "decline", "retry", "give_up"];
let before = new Map();

// What was pressed while another window was in front may have been meant for that one.
let shownAt = performance.now();
const shown = () => { shownAt = performance.now(); };
for (const name of ["load", "pageshow", "focus"]) addEventListener(name, shown);
document.addEventListener("visibilitychange", shown);

const top = (row) => Math.round(row.getBoundingClientRect().top);
const questions = () => document.querySelectorAll("[data-question]");
const wasRead = (row) => row.wasSeen && performance.now() - (row.ledAt ?? -READ) >= READ;
const isLately = (moment) => moment !== undefined && performance.now() - moment < SETTLED;

// Rows that have come, or have moved, may be under a pointer that was meant for another one.
document.addEventListener("htmx:before:swap", () => {
  before = new Map([...questions()].map((row) => [row.id, top(row)]));
});
document.addEventListener("htmx:after:swap", () => {
  for (const row of questions()) {
    const was = before.get(row.id);
    if (was === undefined || Math.abs(was - top(row)) > 4) row.movedAt = performance.now();
  }
  watch();
});

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) target.closest("[data-question]").wasSeen = true;
  }
});

function watch() {
  for (const end of document.querySelectorAll("[data-arguments-end]")) seen.observe(end);
}
watch();

function refuse(event, why) {
  event.preventDefault();
  event.stopImmediatePropagation();
  say(why);
}

document.addEventListener("click", (event) => {
  const row = event.target.closest?.("[data-answer] button")?.closest("[data-question]");
  if (row && event.isTrusted && event.detail > 0 && isLately(row.movedAt)) {
    refuse(event, "The page has just changed: look again.");
  }
}, true);

// However a form is sent: by a button, by a key, by a script.
document.addEventListener("submit", (event) => {
  if (!event.target.matches?.("[data-answer]")) return;
  const row = event.target.closest("[data-question]");
  if (isLately(shownAt)) {
    refuse(event, "The page has just come into view: look at it first.");
  } else if (WORDLESS.includes(event.submitter?.value) && event.target.querySelector("[data-words]")?.value.trim()) {
    refuse(event, "Your words would be lost: answer with them, or take them out.");
  } else if (event.submitter && "approves" in event.submitter.dataset && !wasRead(row)) {
    refuse(event, "Read the arguments to their end first.");
    if (row.wasSeen) return;
    row.ledAt = performance.now();
    row.querySelector("[data-arguments-end]")?.scrollIntoView({ block: "center" });
  }
}, true);
