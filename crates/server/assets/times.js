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

function show() {
  const now = Date.now();
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    if (Number.isNaN(at)) continue;
    const text = "clock" in time.dataset ? clock(at)
      : Math.abs(at - now) > FAR ? DAY.format(at)
      : "due" in time.dataset
      ? (at > now ? `in ${span((at - now) / 1000)}` : "now")
      : `${span((now - at) / 1000)} ago`;
    if (time.textContent !== text) time.textContent = text;
    if (!time.title) time.title = new Date(at).toLocaleString();
  }
}

show();
document.addEventListener("htmx:after:swap", show);
setInterval(() => { if (!held && !document.hidden) show(); }, 1000);
