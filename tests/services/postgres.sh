#!/usr/bin/env bash
# A PostgreSQL for tests: `start` makes a new cluster in a temporary directory, on a socket in it and on a free port of
# the loopback, and prints its URL; `stop URL` ends it and removes everything; `crash URL SECONDS` ends its processes at
# once and starts it again after so long. What it writes is never synced, unless FSYNC=on asks for that, for measurements.
# At ADDRESS it listens, too, and trusts everybody.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck disable=SC2034
SERVICE=PostgreSQL
source tests/services/common.sh

binaries() { find /usr/lib/postgresql -maxdepth 3 -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -n 1; }
# PostgreSQL refuses to run as root.
as_user() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }

start() {
  if [ -z "$(binaries)" ]; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "it is not installed"
    { timeout 120 apt-get update -qq &&
      DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -y -qq --no-install-recommends postgresql; } >&2 ||
      skip "apt-get could not install it"
    [ -n "$(binaries)" ] || skip "apt-get has not installed it"
  fi
  local bin dir port home _
  home=$(services_home) || exit
  bin=$(binaries)
  dir=$(as_user mktemp -d "${TMPDIR:-/tmp}/entourage-postgres.XXXXXX") || skip "cannot make a directory"
  # shellcheck disable=SC2064
  trap "rm -rf '$dir' '$dir.log'" EXIT
  # The locale of bytes: the store sorts names by their bytes, and must not need it.
  as_user "$bin/initdb" -D "$dir/data" -U entourage -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$dir.log" 2>&1 ||
    { cat "$dir.log" >&2; skip "initdb failed"; }
  # A certificate of its own, so that encrypted connections can be tested, too.
  local ssl=off
  if command -v openssl >/dev/null && as_user openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -days 30 -subj /CN=127.0.0.1 -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$dir/data/server.key" -out "$dir/data/server.crt" >"$dir.log" 2>&1; then ssl=on; fi
  cat >>"$dir/data/postgresql.conf" <<CONF
ssl = $ssl
listen_addresses = '127.0.0.1${ADDRESS:+,$ADDRESS}'
unix_socket_directories = '$dir'
fsync = ${FSYNC:-off}
max_connections = 400
shared_buffers = 128MB
max_wal_size = 2GB
CONF
  if [ -n "${ADDRESS:-}" ]; then echo "host all all all trust" >>"$dir/data/pg_hba.conf"; fi
  # Another program may take a port that was free a moment ago.
  for _ in 1 2 3; do
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    if as_user "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -o "-p $port" -w start >&2 9>&-; then
      printf '%s\n' "$dir" >"$home/run/postgres-$port.dir"
      trap - EXIT
      rm -f "$dir.log"
      printf 'postgres://entourage@127.0.0.1:%s/postgres?sslmode=disable\n' "$port"
      return
    fi
  done
  as_user cat "$dir/log" >&2
  skip "it did not start"
}

stop() {
  local port=${1##*:} file dir; port=${port%%/*}
  file=$(services_home)/run/postgres-$port.dir
  [ -f "$file" ] || return 0
  dir=$(cat "$file")
  # By the pid in its directory.
  as_user "$(binaries)/pg_ctl" -D "$dir/data" -m immediate stop >&2 || true
  rm -rf "$dir" "$file"
}

# As after the end of all of the server's processes: what is not logged is empty.
crash() {
  local port=${1##*:} file dir; port=${port%%/*}
  file=$(services_home)/run/postgres-$port.dir
  [ -f "$file" ] || skip "the server at $port is not one that was started here"
  dir=$(cat "$file")
  as_user "$(binaries)/pg_ctl" -D "$dir/data" -m immediate stop >&2
  sleep "${2:-0}"
  as_user "$(binaries)/pg_ctl" -D "$dir/data" -l "$dir/log" -o "-p $port" -w start >&2 9>&-
}

case ${1:-} in
  start) start ;;
  stop) stop "${2:?the URL that start printed}" ;;
  crash) crash "${2:?the URL that start printed}" "${3:-}" ;;
  *) echo "usage: postgres.sh start | stop URL | crash URL [SECONDS]" >&2; exit 2 ;;
esac
