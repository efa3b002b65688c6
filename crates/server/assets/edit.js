// The arguments of a call in a form and as JSON.

import { say } from "./say.js";
import { UNSEEN } from "./unseen.js";

const fields = (edit) => [...edit.querySelectorAll("[data-argument]")];
const json = (edit) => edit.querySelector('[name="arguments"]');
const given = (edit) => JSON.parse(json(edit).defaultValue);

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const STRING = String.raw`"(?:[^"\\]|\\.)*"`;
// A member of an object that fits into a form, and what ends it.
const MEMBER = new RegExp(String.raw`\s*(${STRING})\s*:\s*(${STRING}|[-+.\w]+)\s*(,|\}$)`, "y");
const escaped = (text) => text.replace(UNSEEN, (sign) =>
  Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""));

function refuse(name, why) {
  throw new Error(`“${escaped(name)}” ${why}`);
}

// Numbers stay as they are written: some are longer than a script's own.
function asJson(edit) {
  const before = given(edit);
  const lines = [];
  for (const field of fields(edit)) {
    const { argument } = field.dataset;
    const isText = field.matches("textarea");
    if (field.value.trim() === "" && !(isText && Object.hasOwn(before, argument))) continue;
    if (field.matches("input") && !NUMBER.test(field.value.trim())) refuse(argument, "is not a number");
    lines.push(`  ${JSON.stringify(argument)}: ${isText ? escaped(JSON.stringify(field.value)) : field.value.trim()}`);
  }
  return lines.length ? `{\n${lines.join(",\n")}\n}` : "{}";
}

function members(text) {
  JSON.parse(text);
  const whole = text.trim();
  const found = new Map();
  if (/^\{\s*\}$/.test(whole)) return found;
  MEMBER.lastIndex = 1;
  for (let end = ","; end === ",";) {
    const member = whole.startsWith("{") && MEMBER.exec(whole);
    if (!member) throw new Error("There is more in it than a form has");
    const name = JSON.parse(member[1]);
    if (found.has(name)) refuse(name, "is there twice");
    found.set(name, member[2]);
    end = member[3];
  }
  return found;
}

function shown(field, written, wasGiven) {
  const { argument } = field.dataset;
  if (field.matches("textarea")) {
    if (written === undefined && !wasGiven) return "";
    const text = written?.startsWith('"') ? JSON.parse(written) : refuse(argument, "is no text");
    if (text.search(UNSEEN) >= 0) refuse(argument, "has a character that cannot be seen");
    if (text.trim() === "" && !wasGiven) refuse(argument, "is a text without words");
    return text;
  }
  const value = written ?? "";
  if (field.matches("select")) {
    if (![...field.options].some((option) => option.value === value)) refuse(argument, "is none of those to choose from");
  } else if (value && !NUMBER.test(value)) refuse(argument, "is not a number");
  return value;
}

function fill(edit) {
  const before = given(edit);
  const written = members(json(edit).value);
  const all = fields(edit);
  const values = all.map((field) => {
    const { argument } = field.dataset;
    const value = shown(field, written.get(argument), Object.hasOwn(before, argument));
    written.delete(argument);
    return value;
  });
  for (const name of written.keys()) refuse(name, "is no argument of this call");
  all.forEach((field, at) => { field.value = values[at]; });
}

document.addEventListener("change", (event) => {
  if (event.target.name !== "edit_as") return;
  const edit = event.target.closest("[data-edit]");
  const isToJson = event.target.value === "json";
  try {
    if (isToJson) json(edit).value = asJson(edit);
    else fill(edit);
  } catch (error) {
    const other = edit.querySelector(`[name="edit_as"][value="${isToJson ? "form" : "json"}"]`);
    other.checked = true;
    other.focus();
    say(`${error.message}: it stays as it is.`);
  }
});
