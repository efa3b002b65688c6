// Times as people read them: how long ago, or how long until.

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

export function span(seconds) {
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

let held = false;
export function hold(is) { held = is; }

export function show(within) {
  const now = Date.now();
  for (const time of within.querySelectorAll("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    if (Number.isNaN(at)) continue;
    const text = "due" in time.dataset
      ? (at > now ? `in ${span((at - now) / 1000)}` : "now")
      : `${span((now - at) / 1000)} ago`;
    if (time.textContent !== text) time.textContent = text;
    if (!time.title) time.title = new Date(at).toLocaleString();
  }
}

setInterval(() => { if (!held && !document.hidden) show(document); }, 1000);
