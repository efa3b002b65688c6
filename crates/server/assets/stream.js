// What a model says before its turn is on record. The turn replaces it.

// As the server writes them: characters that show nothing, or turn the direction of reading.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const code = (char) => `⟨U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

const stream = document.getElementById("stream");
if (stream) {
  const parts = { reasoning: stream.children[0], text: stream.children[1] };
  const said = document.getElementById("said");
  let of = null;
  let attempt = -1;
  let length = {};

  const tell = (text) => { if (said.textContent !== text) said.textContent = text; };

  function clear() {
    for (const part of Object.values(parts)) part.replaceChildren();
    stream.hidden = true;
    of = null;
    attempt = -1;
    length = { reasoning: 0, text: 0 };
  }

  // Each piece has its place in the text. One beyond what is here means that some were lost: the turn will have them.
  function add(name, piece, offset) {
    const characters = [...piece];
    const known = length[name] - offset;
    if (known < 0 || known >= characters.length) return;
    parts[name].append(characters.slice(known).join("").replace(HIDDEN, code));
    length[name] += characters.length - known;
    stream.hidden = false;
  }

  clear();
  document.addEventListener("console:stream", clear);
  document.addEventListener("console:delta", ({ detail: delta }) => {
    const key = `${delta.run}/${delta.item_seq}`;
    if (of === key && delta.attempt < attempt) return;
    if (of !== key || delta.attempt > attempt || delta.reset) {
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
    const items = Number(document.querySelector("[data-items]")?.dataset.items ?? 0);
    if (of !== null && items > Number(stream.dataset.seq)) {
      clear();
      tell("The answer is complete.");
    }
  });
}
