import { say } from "./say.js";

const dialog = document.getElementById("acts");
const NEEDS_WORDS = ["steer", "modify", "comment"];
const FOR_ALL = ["pause", "resume", "stop"];
// Whom an action concerns beside the agent.
let concerned = null;

const agents = (count) => `${count} agent${count === 1 ? "" : "s"}`;

function ends(action, all) {
  const { stopped = 0, going_on = 0, deleted = 0 } = concerned ?? {};
  switch (action) {
    case "stop": {
      const count = all ? stopped + going_on : stopped;
      const whose = all ? "below it at work" : "that it has set to work";
      const goes = going_on === 1 ? "goes" : "go";
      const rest = !all && going_on ? ` ${agents(going_on)} below it ${goes} on; tick the box to stop ${going_on === 1 ? "it" : "them"}, too.` : "";
      return `Its work ends${count ? `, and that of ${agents(count)} ${whose}` : ""}.${rest}`;
    }
    case "modify": return "The work under way is dropped, with what it has delegated for that.";
    case "delete": return `It ends for good${deleted ? `, with ${agents(deleted)} below it` : ""}.`;
    default: return "";
  }
}

export function agent() {
  const row = document.activeElement?.closest("[data-agent]");
  return row ?? document.querySelector("header.agent[data-agent]");
}

function warn() {
  const form = dialog.querySelector("form");
  const action = form.elements.namedItem("action").value;
  const below = form.elements.namedItem("below");
  document.getElementById("acts-below").hidden = !FOR_ALL.includes(action);
  if (!FOR_ALL.includes(action)) below.checked = false;
  const warning = document.getElementById("acts-warning");
  warning.textContent = ends(action, below.checked);
  warning.hidden = !warning.textContent;
  const text = form.elements.namedItem("text");
  text.required = NEEDS_WORDS.includes(action);
  text.disabled = !NEEDS_WORDS.includes(action);
  for (const part of [text, ...text.labels]) part.hidden = text.disabled;
}

// The dialog can be used meanwhile.
async function count(path) {
  concerned = null;
  const found = await fetch(path).then((answer) => (answer.ok ? answer.json() : null), () => null);
  if (dialog.querySelector("form").dataset.counts !== path) return;
  concerned = found;
  warn();
}

export function open(action) {
  const of = agent();
  if (!dialog || !of) return false;
  if (of.dataset.status === "cancelled") {
    say("It has ended for good.");
    return true;
  }
  const form = dialog.querySelector("form");
  const path = `/console/agents/${of.dataset.agent}/interventions`;
  form.setAttribute("action", path);
  form.setAttribute("hx-post", path);
  form.dataset.counts = `/console/agents/${of.dataset.agent}/concerned`;
  form.elements.namedItem("below").checked = false;
  count(form.dataset.counts);
  document.getElementById("acts-about").textContent =
    of.querySelector("h1, th a")?.textContent ?? of.dataset.agent;
  const paused = of.dataset.on === "resume";
  form.elements.namedItem("action").value = action === "pause" && paused ? "resume" : action ?? (paused ? "resume" : "pause");
  warn();
  dialog.querySelector("[data-failed]").replaceChildren();
  dialog.showModal();
  const text = form.elements.namedItem("text");
  (text.required ? text : form.elements.namedItem("action")).focus();
  return true;
}

if (dialog) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-act]");
    if (!button) return;
    button.focus();
    open(button.dataset.act || undefined);
  });
  dialog.addEventListener("change", warn);
}
