// The dialog with all that a person can do to an agent.

const dialog = document.getElementById("acts");
const NEEDS_WORDS = ["steer", "modify", "comment"];
// What can be done to all below it at once.
const FOR_ALL = ["pause", "resume", "stop"];
const ENDS = {
  stop: "Its work ends, and what it has delegated for that",
  modify: "The work under way is dropped, with the agents that it has delegated to",
  delete: "It ends for good",
};

// The agent that is meant: that of the row in focus, or that of the page.
export function agent() {
  const row = document.activeElement?.closest("[data-agent]");
  return row ?? document.querySelector("header.agent[data-agent]") ?? document.querySelector("tr[data-agent]");
}

function warn() {
  const form = dialog.querySelector("form");
  const action = form.elements.namedItem("action").value;
  const below = Number(dialog.dataset.below ?? 0);
  const warning = document.getElementById("acts-warning");
  const concerned = below ? ` (${below} below it)` : "";
  warning.hidden = !(action in ENDS);
  warning.textContent = action in ENDS ? `${ENDS[action]}${concerned}.` : "";
  document.getElementById("acts-below").hidden = !FOR_ALL.includes(action);
  if (!FOR_ALL.includes(action)) form.elements.namedItem("below").checked = false;
  form.elements.namedItem("text").required = NEEDS_WORDS.includes(action);
}

export function open(action) {
  const of = agent();
  if (!dialog || !of) return false;
  const form = dialog.querySelector("form");
  const path = `/console/agents/${of.dataset.agent}/interventions`;
  form.setAttribute("action", path);
  form.setAttribute("hx-post", path);
  dialog.dataset.below = of.dataset.below ?? "";
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
    open();
  });
  dialog.querySelector("select").addEventListener("change", warn);
  document.getElementById("show-acts")?.addEventListener("click", () => open());
}
