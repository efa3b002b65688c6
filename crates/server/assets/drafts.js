// What a person was writing stays in this window until it is sent, and, to be copied, if its question goes away.

// But arguments of a call, and what a dialog asks.
const FORMS = 'form[method="post"]:not(dialog form, [data-edit] form)';
const fields = (form) => [...form.elements].filter((field) => field.matches('textarea, input:not([type]), [name="seen"]'));
const isWritten = (field) => field.value !== field.defaultValue;
const key = (form) => `draft ${document.body.dataset.owner} ${form.getAttribute("action")}`;
const forget = (form) => sessionStorage.removeItem(key(form));

// What is written for a version of something stays for that one.
const written = (form) => form.toggleAttribute("hx-morph-skip", !!form.elements.seen);

// Who logs out does so in all windows, also in those that show another site for now.
function leave() {
  const { left = "" } = localStorage;
  if ((sessionStorage.left ?? "") === left) return;
  sessionStorage.clear();
  sessionStorage.left = left;
}
leave();
document.addEventListener("submit", ({ target }) => {
  if (!target.matches('[action$="/logout"]')) return;
  localStorage.left = Date.now();
  leave();
});
addEventListener("storage", leave);

document.addEventListener("input", ({ target: { form } }) => {
  if (!form?.matches(FORMS)) return;
  if (!fields(form).some(isWritten)) return forget(form);
  written(form);
  sessionStorage.setItem(key(form), JSON.stringify(Object.fromEntries(new FormData(form))));
});

for (const form of document.querySelectorAll(FORMS)) {
  const draft = JSON.parse(sessionStorage.getItem(key(form)));
  if (!draft) continue;
  for (const field of fields(form)) field.value = draft[field.name] ?? field.value;
  written(form);
  form.closest("details")?.setAttribute("open", "");
}

document.addEventListener("htmx:after:request", ({ target, detail }) => {
  if (target.matches?.(FORMS) && detail.ctx.response?.status < 300) forget(target);
});
document.addEventListener("click", ({ target }) => { if (target.closest?.("[data-discard]")) forget(target.closest("form")); });

const place = document.getElementById("kept");
let answered = null;
let open = [];

document.addEventListener("htmx:before:request", ({ target }) => {
  answered = target.closest?.("[data-answer]")?.closest("[data-question]").id ?? answered;
});
document.addEventListener("htmx:response:error", () => { answered = null; });

document.addEventListener("htmx:before:swap", () => {
  open = [...document.querySelectorAll("[data-answer] textarea")].filter((field) => field.value.trim() && isWritten(field)).map((field) => {
    const row = field.closest("[data-question]");
    return { row: row.id, id: field.id, words: field.value, asks: row.querySelector(".asks").textContent };
  });
});

document.addEventListener("htmx:after:swap", () => {
  for (const { row, id, words, asks } of open) {
    if (document.getElementById(id) || row === answered) continue;
    const kept = place.querySelector("template").content.cloneNode(true);
    kept.querySelector("q").textContent = asks.slice(0, 200);
    kept.querySelector("textarea").value = words;
    place.append(kept);
    place.hidden = false;
  }
  open = [];
  if (!document.getElementById(answered)?.querySelector("[data-answer]")) answered = null;
});
place.addEventListener("click", ({ target }) => {
  target.closest("button")?.parentElement.remove();
  place.hidden = !place.querySelector("div");
});
