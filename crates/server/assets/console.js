import "./guard.js";
import "./live.js";
import { showKeys } from "./keys.js";
import "./stream.js";
import "./act.js";
import "./drafts.js";
import "./edit.js";
import { say } from "./say.js";

const $ = (id) => document.getElementById(id);

// Who opens a chat, or has begun one, writes: words are no keys there.
const has = document.querySelector("#composer[data-of]");
const begun = sessionStorage.getItem("begun") !== null;
sessionStorage.removeItem("begun");
if (has && !location.hash && !location.search && (begun || has.elements.namedItem("chat"))) {
  has.elements.namedItem("text").focus({ preventScroll: true });
}

for (const zone of document.querySelectorAll("[data-zone]")) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? zone.value;

document.addEventListener("change", (event) => {
  if ("submits" in event.target.dataset) event.target.form.requestSubmit();
});

document.addEventListener("htmx:config:request", ({ detail }) => { detail.ctx.request.headers["Console-Asker"] = document.body.dataset.asker; });

let asked = null;
document.addEventListener("htmx:before:request", (event) => {
  if (event.target.id === "main") return;
  asked = event.target.closest?.("form");
  if (asked?.matches("#composer:not([data-of])")) sessionStorage.setItem("begun", "");
  for (const place of document.querySelectorAll("#failed, [data-failed]")) place.replaceChildren();
});

$("show-keys").addEventListener("click", showKeys);
for (const close of document.querySelectorAll("[data-close]")) {
  close.addEventListener("click", () => close.closest("dialog").close());
}

document.addEventListener("htmx:after:swap", () => {
  const failed = $("failed");
  const place = asked?.querySelector("[data-failed]");
  if (!place || !failed.childElementCount) return;
  place.replaceChildren(...failed.childNodes);
  (place.querySelector("h2") ?? place).scrollIntoView({ block: "nearest" });
});

document.addEventListener("sent", (event) => {
  if (event.detail?.said) say(event.detail.said);
  const form = event.target.closest("form[data-send]");
  if (!form) return;
  form.reset();
  const key = form.elements.namedItem("key");
  if (key && event.detail?.key) key.value = event.detail.key;
  form.closest("dialog")?.close();
  // Whoever has clicked writes on: on a button, words would be keys.
  if (form.id === "composer" && form.contains(document.activeElement)) form.elements.namedItem("text").focus({ preventScroll: true });
});

// An answer is an option or words: who writes has taken the option back.
document.addEventListener("input", (event) => {
  const words = event.target.closest?.("[data-answer] [data-words]");
  if (!words?.value.trim()) return;
  for (const option of words.form.querySelectorAll("[name=option]:checked")) option.checked = false;
});

document.addEventListener("htmx:error", (event) => {
  if (event.target.id === "main") return;
  sessionStorage.removeItem("begun");
  const problem = document.createElement("p");
  problem.className = "problem";
  problem.dataset.unreached = "";
  const hasText = [...asked?.querySelectorAll("textarea") ?? []].some((field) => field.offsetParent && field.value.trim());
  problem.textContent = `The server cannot be reached. ${hasText ? "Your text is still here: send it again." : "Nothing was sent: try again."}`;
  $("failed").replaceChildren(problem);
});
document.addEventListener("htmx:response:error", () => sessionStorage.removeItem("begun"));
document.addEventListener("console:stream", () => document.querySelector("[data-unreached]")?.remove());

// What a form shows in place of its page has an address of its own.
const address = () => location.pathname + location.search;
const shown = () => $("main")?.getAttribute("hx-get")?.replace(/^\/console\/f/, "/console") ?? address();
document.addEventListener("htmx:after:swap", (event) => {
  const { ctx } = event.detail;
  if (asked && ctx?.request?.method === "POST" && ctx.response?.status < 300 && shown() !== address()) history.pushState(null, "", shown());
});
addEventListener("popstate", () => { if (shown() !== address()) location.reload(); });

// Expired logins: the page and its drafts stay, behind the dialog.
$("login")?.addEventListener("cancel", (event) => event.preventDefault());
document.addEventListener("htmx:response:error", (event) => {
  if (event.detail?.ctx?.response?.status === 401) $("login")?.showModal();
});
document.addEventListener("logged-in", (event) => {
  // The page is another person's.
  if (event.detail?.owner !== document.body.dataset.owner) return location.reload();
  $("login")?.close();
  $("failed").replaceChildren();
  document.dispatchEvent(new Event("console:connect"));
});
