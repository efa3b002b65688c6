#!/usr/bin/env bash
# Several processes of BINARY that share a PostgreSQL, and what happens to them while RUNS agents work (default 40): with
# wake-ups that the database delivers, with Restate, or one after the other, which is the default. What must hold stands in
# cluster.py. ENTOURAGE_TEST_POSTGRES names a server; without it one is started.
#
#   BINARY=target/release/entourage RUNS=500 bash tests/services/cluster.sh [database|restate|both]
#
# With TEST=soak it is many short runs over processes of which one after another is killed, as soak.py has it: by hand.
#
# Exit 77 with a line "SKIPPED: ..." on stderr where something of that cannot be had, 1 when anything fails.
set -euo pipefail
# shellcheck disable=SC2034
SERVICE="a cluster"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=common.sh
. "$HERE/common.sh"
[ -x "${BINARY:-}" ] || { echo "BINARY names no program: ${BINARY:-}" >&2; exit 2; }
need python3
folder=$(mktemp -d) started="" ingress=""
clean() {
  if [ -n "$ingress" ]; then bash "$HERE/restate.sh" stop "$ingress"; fi
  if [ -n "$started" ]; then bash "$HERE/postgres.sh" stop "$started"; fi
  rm -rf "$folder"
}
trap clean EXIT
if [ -z "${ENTOURAGE_TEST_POSTGRES:-}" ]; then
  started=$(bash "$HERE/postgres.sh" start) || exit
  ENTOURAGE_TEST_POSTGRES=$started
fi
need psql

over() {   # over DISPATCH [INGRESS ADMIN]
  mkdir "$folder/$1"
  python3 "$HERE/${TEST:-cluster}.py" "$BINARY" "$ENTOURAGE_TEST_POSTGRES" "$folder/$1" "${RUNS:-40}" "${@:2}"
}
# One of its own: it is killed, and loses what it had.
over_restate() {
  local servers
  servers=$(bash "$HERE/restate.sh" start) || exit
  ingress=$(head -n 1 <<<"$servers")
  over restate "$ingress" "$(tail -n 1 <<<"$servers")"
}
case ${1:-both} in
  database) over database ;;
  restate) over_restate ;;
  both) over database; over_restate ;;
  *) sed -n '2,10p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
