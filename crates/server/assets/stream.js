// A transcript as it grows. What a model says before its turn is on record is replaced by the turn.

import { UNSEEN } from "./unseen.js";

const code = (char) => `⟨U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

const stream = document.getElementById("stream");
if (stream) {
  const parts = { reasoning: stream.children[0], text: stream.children[1] };
  const broken = stream.children[2];
  const said = document.getElementById("said");
  let of = null;
  let attempt = -1;
  let length = {};
  // Signs are judged by those before them, also in the piece before.
  let ends = {};
  // What stands there was taken back, and nothing has come in its place.
  let isVoid = false;

  const tell = (text) => { if (said.textContent !== text) said.textContent = text; };

  function clear() {
    for (const part of Object.values(parts)) part.replaceChildren();
    stream.hidden = true;
    broken.hidden = true;
    of = null;
    attempt = -1;
    isVoid = false;
    length = { reasoning: 0, text: 0 };
    ends = { reasoning: "", text: "" };
  }

  // Each piece has its place in the text. One beyond what is here means that some were lost: the turn will have them.
  function add(name, text, offset) {
    const characters = [...text];
    const known = length[name] - offset;
    if (known < 0 || known >= characters.length) return;
    const piece = characters.slice(known).join("").replaceAll("\r\n", "\n");
    const before = ends[name];
    const all = before + piece;
    parts[name].append(all.replace(UNSEEN, (char, at) => (at < before.length ? char : code(char))).slice(before.length));
    ends[name] = all.slice(-4);
    length[name] += characters.length - known;
    stream.hidden = false;
  }

  clear();
  document.addEventListener("console:stream", clear);
  document.addEventListener("console:delta", ({ detail: delta }) => {
    const key = `${delta.run}/${delta.item_seq}`;
    if (of === key && delta.attempt < attempt) return;
    const isNew = of !== key || delta.attempt > attempt || delta.reset;
    if (isNew && of === key && !delta.reasoning && !delta.text) {
      isVoid = true;
      return;
    }
    if (isNew || isVoid) {
      clear();
      of = key;
      attempt = delta.attempt;
      stream.dataset.seq = String(delta.item_seq);
      tell("The answer begins.");
    }
    for (const name of ["reasoning", "text"]) {
      if (delta[name] !== undefined) add(name, delta[name], delta.offset);
    }
  });
  document.addEventListener("htmx:after:swap", () => {
    if (of === null) return;
    const { items = 0, status, on } = document.querySelector("[data-items]")?.dataset ?? {};
    if (!broken.hidden) {
      // A chat shows no turn that only asks, or only leaves work to others.
      const hasGoneOn = ["waiting", "succeeded"].includes(status);
      if (hasGoneOn || [...document.querySelectorAll(".turn")].some((turn) => turn.id.slice(1) > +stream.dataset.seq)) clear();
      return;
    }
    const isOver = Number(items) > Number(stream.dataset.seq);
    const isTurn = document.getElementById(`i${stream.dataset.seq}`)?.matches(".turn");
    if (["stopped", "failed", "cancelled"].includes(status) && !isTurn) {
      // What was written until then stays until there is another turn.
      broken.hidden = false;
      tell("The answer has broken off.");
    } else if (isOver) {
      clear();
      tell(on === "user" ? "It asks you." : "The answer is complete.");
    } else if (isVoid && status !== "running") {
      clear();
    }
  });
}

// It is read from its end: who is there stays there while it grows, whatever makes it grow.
if (document.querySelector("header.agent")) {
  const root = document.documentElement;
  const end = () => root.scrollHeight - innerHeight - scrollY < 8;
  const follow = () => scrollTo(0, root.scrollHeight);
  if (!location.hash && !location.search) follow();
  let isAtEnd = end();
  let top = scrollY;
  // Between two frames the page may have grown again: who has not gone up is still at its end.
  addEventListener("scroll", () => {
    isAtEnd = end() || (isAtEnd && scrollY >= top);
    top = scrollY;
  });
  // What is opened is read from its beginning.
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("summary")) isAtEnd = false;
  }, true);
  new ResizeObserver(() => { if (isAtEnd) follow(); }).observe(document.body);
}
