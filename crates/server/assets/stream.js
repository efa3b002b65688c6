// What a model says before its turn is on record. The turn replaces it.

const stream = document.getElementById("stream");
if (stream) {
  const [reasoning, spoken] = stream.children;
  const said = document.getElementById("said");
  let of = null;
  let at = 0;

  const clear = () => {
    reasoning.replaceChildren();
    spoken.replaceChildren();
    stream.hidden = true;
    of = null;
  };
  const tell = (text) => { if (said.textContent !== text) said.textContent = text; };

  document.addEventListener("console:stream", clear);
  document.addEventListener("console:delta", ({ detail: delta }) => {
    const key = `${delta.run}/${delta.item_seq}/${delta.attempt}`;
    if (delta.reset || (of !== null && (of !== key || delta.offset !== at))) clear();
    if (delta.reset) return;
    if (of === null) {
      // Only from the beginning: the turn itself comes soon.
      if (delta.offset !== 0) return;
      of = key;
      stream.dataset.seq = String(delta.item_seq);
      tell("The answer begins.");
    }
    at = delta.offset + 1;
    const text = delta.text ?? delta.reasoning ?? "";
    (delta.text === undefined ? reasoning : spoken).append(text);
    stream.hidden = false;
  });
  document.addEventListener("htmx:after:swap", () => {
    const items = Number(document.querySelector("[data-items]")?.dataset.items ?? 0);
    if (of !== null && items > Number(stream.dataset.seq)) {
      clear();
      tell("The answer is complete.");
    }
  });
}
