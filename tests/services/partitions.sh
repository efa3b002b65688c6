#!/usr/bin/env bash
# Processes of BINARY on machines of their own (network namespaces), whose database, Restate and ways to each other are cut
# and frozen while agents work, for 15 seconds each. What must hold stands in partitions.py.
# By hand; root alone can make such machines.
#
#   BINARY=target/release/entourage bash tests/services/partitions.sh [database|restate|both]
#
# Exit 77 with a line "SKIPPED: ..." on stderr where something of that cannot be had, 1 when anything fails.
set -euo pipefail
# shellcheck disable=SC2034
SERVICE="partitions of a network"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=common.sh
. "$HERE/common.sh"
[ -x "${BINARY:-}" ] || { echo "BINARY names no program: ${BINARY:-}" >&2; exit 2; }
need python3 psql ip unshare
unshare --net --mount true 2>/dev/null || skip "network namespaces cannot be made here"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ "${1:-both}" != both ] || set -- database restate
for dispatch in "$@"; do
  # What is made there goes with its last process.
  unshare --net --mount python3 "$HERE/partitions.py" "$(realpath "$BINARY")" "$folder/$dispatch" "$dispatch"
done
