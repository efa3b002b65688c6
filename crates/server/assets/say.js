// Says what has happened, to eyes and to screen readers.

const said = document.getElementById("said");
let ends = 0;

export function say(text) {
  said.textContent = text;
  said.classList.add("seen");
  clearTimeout(ends);
  ends = setTimeout(() => said.classList.remove("seen"), 4000);
}
