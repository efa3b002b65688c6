#!/usr/bin/env bash
# Takes the disk away from BINARY while agents work: a full one, a read-only one, and a database that another
# program holds, for SECONDS each (default 6). What must hold stands in outages.py.
#
#   BINARY=target/release/entourage SECONDS_EACH=60 bash tests/services/outages.sh
#
# Exit 77 with a line "SKIPPED: ..." on stderr where no small file system can be mounted, 1 when anything fails.
set -euo pipefail
SERVICE=outages
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=common.sh
. "$HERE/common.sh"
[ -x "${BINARY:-}" ] || { echo "BINARY names no program: ${BINARY:-}" >&2; exit 2; }
need python3 cc unshare mount
own=(unshare -m); [ "$(id -u)" = 0 ] || own=(unshare -rm)
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
mkdir "$folder/disk"
"${own[@]}" mount -t tmpfs -o size=64m outage "$folder/disk" 2>/dev/null || skip "no file system can be mounted here"
cc -shared -fPIC -O1 -o "$folder/read_only.so" "$HERE/read_only.c" -ldl
"${own[@]}" bash -c 'mount -t tmpfs -o size=64m outage "$1" && exec python3 "$2" "$3" "$4" "$1" "$5"' \
  - "$folder/disk" "$HERE/outages.py" "$BINARY" "${SECONDS_EACH:-6}" "$folder/read_only.so"
