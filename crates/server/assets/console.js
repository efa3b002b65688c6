// What the pages share: dialogs, forms that were sent, and the parts beside.
import "./guard.js";
import "./live.js";
import "./keys.js";
import "./stream.js";
import "./act.js";
import { say } from "./say.js";
import { show } from "./times.js";

const $ = (id) => document.getElementById(id);

show(document);
document.addEventListener("htmx:after:swap", () => show(document));
document.querySelector(".bar [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
// A transcript is read from its end.
if (document.querySelector("header.agent") && !location.hash && !location.search) {
  scrollTo(0, document.documentElement.scrollHeight);
}

document.addEventListener("change", (event) => {
  if ("submits" in event.target.dataset) event.target.form.requestSubmit();
});

// An answer that failed stays until the next request.
document.addEventListener("htmx:before:request", (event) => {
  if (event.target.id !== "main") $("failed").replaceChildren();
});

$("show-keys").addEventListener("click", () => $("keys").showModal());
for (const close of document.querySelectorAll("[data-close]")) {
  close.addEventListener("click", () => close.closest("dialog").close());
}

// A problem stands where the person looks.
document.addEventListener("htmx:after:swap", () => {
  const failed = $("failed");
  const dialog = document.querySelector("dialog[open] [data-failed]");
  if (dialog && failed.childElementCount) dialog.replaceChildren(...failed.childNodes);
});

// What was sent is cleared, and the next text gets a key of its own.
document.addEventListener("sent", (event) => {
  const form = event.target.closest("form[data-send]");
  if (!form) return;
  form.reset();
  const key = form.elements.namedItem("key");
  if (key && event.detail?.key) key.value = event.detail.key;
  form.closest("dialog")?.close();
  if (event.detail?.said) say(event.detail.said);
});

// What was not sent keeps its text; where the server cannot be reached, that is said.
document.addEventListener("htmx:error", (event) => {
  if (event.target.id === "main") return;
  const problem = document.createElement("p");
  problem.className = "problem";
  problem.textContent = "The server cannot be reached. Your text is still here: send it again.";
  $("failed").replaceChildren(problem);
});

// Expired logins: the page and its drafts stay.
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
