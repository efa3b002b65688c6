// Nobody approves what they have not seen: an answer is taken from a row that stands still, to its end in view.

import { say } from "./say.js";

const SETTLED = 700;
let before = new Map();

const top = (row) => Math.round(row.getBoundingClientRect().top);
const questions = () => document.querySelectorAll("[data-question]");

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

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-answer] button");
  const row = button?.closest("[data-question]");
  if (!row) return;
  const refuse = (why) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    say(why);
  };
  if (event.isTrusted && event.detail > 0 && performance.now() - (row.movedAt ?? 0) < SETTLED && row.movedAt) {
    refuse("The page has just changed: look again.");
  } else if ("approves" in button.dataset && !row.wasSeen) {
    refuse("Read the arguments to their end first.");
    row.querySelector("[data-arguments-end]")?.scrollIntoView({ block: "center" });
  }
}, true);
