#!/usr/bin/env bash
# A Restate server (BSL 1.1, from npm) for tests, on loopback with a new directory.
#
#   restate.sh install
#   restate.sh start [INGRESS ADMIN]  start one and print the URLs of its ingress and of its admin, each on a line: at
#                                     free ports, or at those of these URLs
#   restate.sh stop [INGRESS]         end the one at this URL, or all that were started, and remove their directories
#   restate.sh kill INGRESS           the same at once, with no chance to write anything
#
# ADDRESS: where it listens, default 127.0.0.1.
# With RESTATE=1 each test of crates/restate starts one.
# SERVICES_HOME: where it is installed, default ~/.cache/entourage-services.
# Exit 77 with a line "SKIPPED: ..." on stderr when it cannot be had.
set -euo pipefail
SERVICE=Restate VERSION=1.7.12
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=common.sh
. "$HERE/common.sh"
HOME_DIR=$(services_home) || exit
RUN=$HOME_DIR/run WORD=restate-server

install() {
  local platform
  need node
  platform=$(node -p '`${process.platform}-${process.arch}`')
  npm_package "$HOME_DIR" @restatedev/restate-server $VERSION package.json
  BINARY=$PACKAGE-$platform/bin/restate-server
  [ -x "$BINARY" ] || skip "there is none for $platform"
}

# What a cluster of one needs on a small machine. A node that is frozen or cut off is noticed within six seconds.
configuration() {   # configuration DIRECTORY INGRESS_PORT ADMIN_PORT NODE_PORT
  cat <<CONF
roles = ["http-ingress", "admin", "worker", "log-server", "metadata-server"]
node-name = "one"
cluster-name = "entourage"
base-dir = "$1"
bind-address = "127.0.0.1:$4"
advertised-address = "http://127.0.0.1:$4"
default-num-partitions = 4
rocksdb-total-memory-size = "128.0 MiB"
disable-telemetry = true
log-filter = "warn"
log-disable-ansi-codes = true

[ingress]
bind-address = "${ADDRESS:-127.0.0.1}:$2"

[admin]
bind-address = "${ADDRESS:-127.0.0.1}:$3"
disable-web-ui = true

[worker.invoker]
http2-keep-alive-interval = "3s"
http2-keep-alive-timeout = "3s"
CONF
}

start() {
  local ingress=${1:-} admin=${2:-} host=${ADDRESS:-127.0.0.1} dir pid file tries=300
  install
  ingress=${ingress##*:} admin=${admin##*:}
  ingress=${ingress:-$(free_port)} admin=${admin:-$(free_port)}
  dir=$(mktemp -d "${TMPDIR:-/tmp}/entourage-restate.XXXXXX") || skip "cannot make a directory"
  configuration "$dir/data" "$ingress" "$admin" "$(free_port)" >"$dir/restate.toml"
  # Without variables: it would take those that begin with RESTATE_ for its configuration.
  nohup env -i "$BINARY" --config-file "$dir/restate.toml" </dev/null >"$dir/log" 2>&1 9>&- & pid=$!
  file=$RUN/$WORD-$ingress.pid
  printf '%s\n%s\n%s\n' "$pid" "http://$host:$ingress" "$dir" >"$file"
  until curl -sf -o /dev/null "http://$host:$ingress/restate/health" && curl -sf -o /dev/null "http://$host:$admin/health"; do
    if ! alive "$file" $WORD || [ $((tries -= 1)) -le 0 ]; then
      tail -n 5 "$dir/log" >&2; end kill "$file"; skip "the server ended at once, or did not come up in time"
    fi
    sleep 0.1
  done
  printf 'http://%s:%s\n' "$host" "$ingress" "$host" "$admin"
}

end() {   # end HOW FILE
  local dir; [ -f "$2" ] || return 0
  dir=$(sed -n 3p "$2")
  if [ "$1" = kill ] && alive "$2" $WORD; then kill -9 "$(head -n 1 "$2")"; fi
  stop_pid "$2" $WORD
  rm -rf "$dir"
}

case ${1:-} in
  install) install ;;
  start) need curl; start "${2:-}" "${3:-}" ;;
  stop | kill)
    port=${2:-}; port=${port##*:}
    for file in "$RUN/$WORD"-"${port:-*}".pid; do [ "$file" = "$RUN/$WORD-*.pid" ] || end "$1" "$file"; done ;;
  *) sed -n '2,15p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
