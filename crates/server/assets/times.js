const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
const FAR = 8.64e9;
const DAY = new Intl.DateTimeFormat();

function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const at = UNITS.findIndex(([, size]) => whole >= size);
  if (at < 0) return "0 s";
  const [unit, size] = UNITS[at];
  const first = `${Math.floor(whole / size)} ${unit}`;
  const next = UNITS[at + 1];
  if (!next || at > 1 || Math.floor(whole / size) > 9) return first;
  const rest = Math.floor((whole % size) / next[1]);
  return rest ? `${first} ${rest} ${next[0]}` : first;
}

function clock(at) {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? time.toLocaleTimeString() : time.toLocaleString();
}

let held = false;
export function hold(is) { held = is; }

// Seconds are shown of the last minute alone: where nothing is so new, a page rests.
const NEW = 90_000;
let next = 0;

function show() {
  const now = Date.now();
  let isNew = false;
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    if (Number.isNaN(at)) continue;
    isNew ||= Math.abs(at - now) < NEW;
    const text = "clock" in time.dataset ? clock(at)
      : Math.abs(at - now) > FAR ? DAY.format(at)
      : "due" in time.dataset
      ? (at > now ? `in ${span((at - now) / 1000)}` : "now")
      : `${span((now - at) / 1000)} ago`;
    if (time.textContent !== text) time.textContent = text;
    if (!time.title) time.title = new Date(at).toLocaleString();
  }
  clearTimeout(next);
  next = setTimeout(tick, isNew ? 1000 : 10_000);
}

function tick() {
  if (!held && !document.hidden) return show();
  next = setTimeout(tick, 1000);
}

show();
document.addEventListener("htmx:after:swap", show);
