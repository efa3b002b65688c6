// What a person writes stays in this window until it is sent, and, to be copied, if what it is for goes away.
import { say } from "./say.js";

// But what a dialog asks.
const FORMS = 'form[method="post"]:not(dialog form)';
const DRAFTS = `draft ${document.body.dataset.owner} `;
const forms = () => document.querySelectorAll(FORMS);
const texts = (form) => [...form.elements].filter((field) => field.matches("textarea, input:not([type])"));
const isWritten = (field) => field.value !== field.defaultValue;
const isOfCall = (form) => !!form.closest("[data-edit]");
const name = (form, ofCall) => DRAFTS + form.getAttribute("action") + (ofCall ? " arguments" : "");
const key = (form) => name(form, isOfCall(form));
const page = () => location.pathname + location.search;
const draft = (key) => JSON.parse(sessionStorage.getItem(key));
const forget = (form) => { if (unkept === form) unkept = null; for (const ofCall of [true, false]) sessionStorage.removeItem(name(form, ofCall)); };

// What is written for a version of something stays for that one.
const written = (form) => form.toggleAttribute("hx-morph-skip", !!form.elements.seen);

// Who logs out does so in all windows, also in those that show another site for now.
function leave() {
  const { left = "" } = localStorage;
  if ((sessionStorage.left ?? "") === left) return false;
  sessionStorage.clear();
  sessionStorage.left = left;
  return true;
}
leave();
document.addEventListener("submit", ({ target }) => {
  if (!target.matches('[action$="/logout"]')) return;
  localStorage.left = Date.now();
  leave();
});
// The server may hear of it a moment later: nothing is to be read here meanwhile.
addEventListener("storage", () => {
  if (!leave()) return;
  document.body.hidden = true;
  setTimeout(() => location.reload(), 1000);
});

// The form with what has no room here.
let unkept = null;
addEventListener("beforeunload", (event) => { if (!sent && unkept?.isConnected && texts(unkept).some(isWritten)) event.preventDefault(); });

document.addEventListener("input", ({ target: { form } }) => {
  if (!form?.matches(FORMS)) return;
  if (unkept === form) unkept = null;
  const words = texts(form).filter(isWritten).map((field) => field.value);
  if (!words.length) return sessionStorage.removeItem(key(form));
  written(form);
  const of = form.closest("[data-question]")?.querySelector(".asks") ?? document.querySelector("h1");
  const kept = JSON.stringify({
    page: page(),
    of: of?.textContent.slice(0, 200) ?? document.title,
    words: words.join("\n\n"),
    values: Object.fromEntries(new FormData(form)),
  });
  try {
    sessionStorage.setItem(key(form), kept);
  } catch {
    sessionStorage.removeItem(key(form));
    unkept = form;
    say("This is too long to be kept: it is lost if you leave the page before you send it.");
  }
});

// Words, what was chosen with them, and what they were written over.
function restore(form) {
  const values = draft(key(form))?.values;
  // The call may be another one by now.
  if (!values || isOfCall(form) || texts(form).some(isWritten)) return;
  for (const field of form.elements) {
    if (!field.name || field.matches('button, [type=hidden]:not([name="seen"], [name^="was_"])')) continue;
    if (field.matches("[type=radio], [type=checkbox]")) field.checked = values[field.name] === field.value;
    else field.value = values[field.name] ?? field.value;
  }
  written(form);
  form.closest("details")?.setAttribute("open", "");
}
forms().forEach(restore);

// What was written for a form that was on this page, and is not there any more.
const place = document.getElementById("kept");
const seen = new Set();
let sent = null;

function keep() {
  const isShown = (form) => getComputedStyle(form.closest(".below") ?? form).display !== "none";
  const here = [...forms()].filter(isShown).map(key);
  here.forEach((key) => seen.add(key));
  const lost = Object.keys(sessionStorage).filter((key) => key.startsWith(DRAFTS) && !here.includes(key)
    && !(sent && key.startsWith(sent)) && (seen.has(key) || draft(key).page === page()));
  const shown = [...place.querySelectorAll("div")];
  for (const block of shown) if (!lost.includes(block.dataset.of)) block.remove();
  for (const key of lost) {
    if (shown.some((block) => block.dataset.of === key)) continue;
    const { of, words } = draft(key);
    const block = place.querySelector("template").content.firstElementChild.cloneNode(true);
    block.dataset.of = key;
    block.querySelector("q").textContent = of;
    block.querySelector("textarea").value = words;
    place.append(block);
  }
  place.hidden = !lost.length;
}
keep();

document.addEventListener("htmx:before:request", ({ target }) => { if (target.matches?.(FORMS)) sent = name(target); });
document.addEventListener("htmx:after:request", ({ target, detail }) => {
  if (!target.matches?.(FORMS)) return;
  sent = null;
  if (detail.ctx.response?.status < 300) forget(target);
  keep();
});
document.addEventListener("htmx:error", () => { sent = null; });
document.addEventListener("click", ({ target }) => { if (target.closest?.("[data-discard]")) forget(target.closest("form")); });
place.addEventListener("click", ({ target }) => {
  const block = target.closest("button")?.parentElement;
  if (!block) return;
  sessionStorage.removeItem(block.dataset.of);
  keep();
});

// What others do above a field leaves it where it is.
let field = null;
let top = 0;
document.addEventListener("htmx:before:swap", () => {
  field = document.activeElement?.closest("main :is(textarea, input)");
  top = field?.getBoundingClientRect().top;
});
document.addEventListener("htmx:after:swap", () => {
  if (field?.isConnected) scrollBy(0, field.getBoundingClientRect().top - top);
  for (const form of document.querySelectorAll(`main ${FORMS}`)) if (!sent || !key(form).startsWith(sent)) restore(form);
  keep();
});
