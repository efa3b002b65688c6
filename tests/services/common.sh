# shellcheck shell=bash
# Sourced by the scripts beside it. Sourcing scripts set SERVICE, the name used in messages.
# Every one of them prints its answer, and nothing else, on stdout; everything meant for people goes to stderr.

# A service that cannot be had is not a failed test: exit 77, and say so loudly enough to be found in a log.
skip() { echo "SKIPPED: $SERVICE not available: $*" >&2; exit 77; }
# What must be there, and is not: a failed test.
fail() { echo "FAILED: $SERVICE: $*" >&2; exit 1; }
need() { local c; for c in "$@"; do command -v "$c" >/dev/null || skip "'$c' is not installed"; done; }

services_home() {
  local home=${SERVICES_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/entourage-services}
  mkdir -p "$home/run" || skip "cannot create $home"
  cd "$home" && pwd
}

# npm_package HOME NAME VERSION FILE: sets PACKAGE to the folder of that npm package, installed on first use.
npm_package() {
  local dir=$1/${2##*/}-$3 tmp
  PACKAGE=$dir/node_modules/$2
  [ -f "$PACKAGE/$4" ] && return
  need node npm
  tmp=$(mktemp -d "$1/tmp.XXXXXX") || skip "cannot write to $1"
  # No install scripts: neither package needs one. Few retries: without a registry the skip should come soon.
  if ! npm install --prefix "$tmp" --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 "$2@$3" >&2; then
    rm -rf "$tmp"; skip "npm could not install $2@$3"
  fi
  # Moved into place whole, so two runs installing at once cannot see or leave half a folder.
  node -e 'fs.renameSync(...process.argv.slice(1))' "$tmp" "$dir" 2>/dev/null || rm -rf "$tmp"
  [ -f "$PACKAGE/$4" ] || skip "$2@$3 has no $4"
}

# Installs Debian's Chromium if it is missing and we may.
need_chromium() {
  command -v chromium >/dev/null && return
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "chromium is not installed"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >&2 ||
    skip "apt-get could not install chromium"
}

# A port on which nothing listens: it was free a moment ago.
free_port() {
  node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})'
}

# A pid file holds the pid and, on the second line, the address. The command line is compared too,
# because the pid of a server that died may belong to some other process by now.
alive() {   # alive PIDFILE WORD
  local pid; [ -f "$1" ] && pid=$(head -n 1 "$1") && ps -o args= -p "$pid" 2>/dev/null | grep -qF -- "$2"
}
stop_pid() {   # stop_pid PIDFILE WORD
  local pid _; if alive "$1" "$2"; then
    pid=$(head -n 1 "$1"); kill "$pid" 2>/dev/null || true
    for _ in $(seq 50); do alive "$1" "$2" || break; sleep 0.1; done
    if alive "$1" "$2"; then kill -9 "$pid" 2>/dev/null || true; fi   # some servers wait for idle connections first
  fi
  rm -f "$1"
}
stop_servers() {   # stop_servers RUN_DIR WORD [URL]: the one at URL, or all
  local f port=${3:-}; port=${port##*:}; port=${port%%/*}
  for f in "$1/$2"-*.pid; do
    if [ -z "$port" ] || [ "$f" = "$1/$2-$port.pid" ]; then stop_pid "$f" "$2"; fi
  done
}

# start_server RUN_DIR WORD PATTERN SECONDS COMMAND...: starts COMMAND, waits until its log holds PATTERN (one
# that captures the address the server chose itself: no race for a free port), writes the pid file, sets ADDRESS.
# One that does not come up cannot be had; whoever starts a program of ours sets UNSTARTED=fail.
start_server() {
  local run=$1 word=$2 pattern=$3 tries=$(($4 * 10)) log pid; shift 4
  find "$run" -name '*.log' -mtime +1 -delete   # kept that long for whoever looks into a failure
  log=$(mktemp "$run/$word.XXXXXX.log") || skip "cannot write to $run"
  # Its own output and no stdin: a caller that reads this script's stdout to the end must not wait for the server.
  nohup "$@" </dev/null >"$log" 2>&1 9>&- & pid=$!   # 9: nor may it keep a lock the script holds
  while ! ADDRESS=$(sed -nE "\#$pattern#{s#.*$pattern.*#\1#p;q;}" "$log") || [ -z "$ADDRESS" ]; do
    if ! kill -0 "$pid" 2>/dev/null; then tail -n 5 "$log" >&2; "${UNSTARTED:-skip}" "the server ended at once, see $log"; fi
    if [ $((tries -= 1)) -le 0 ]; then kill "$pid"; tail -n 5 "$log" >&2; "${UNSTARTED:-skip}" "the server did not come up in time, see $log"; fi
    sleep 0.1
  done
  printf '%s\n%s\n' "$pid" "$ADDRESS" >"$run/$word-${ADDRESS##*:}.pid"
}
