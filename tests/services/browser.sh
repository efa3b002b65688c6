#!/usr/bin/env bash
# A real browser: Debian's Chromium, driven by playwright-core (Apache-2.0) from npm. It follows an exploration with
# `EventSource` while the server ends and starts again.
#
# BINARY: the program that serves. SERVICES_HOME: where packages are installed, default ~/.cache/entourage-services.
# Chromium is installed by apt-get if it is missing and we may. Exit 77 with a line "SKIPPED: ..." on stderr when it cannot
# be had.
set -euo pipefail
SERVICE="a browser" VERSION=1.65.1
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
HOME_DIR=$(services_home) || exit
[ -x "${BINARY:-}" ] || { echo "BINARY names no program: ${BINARY:-}" >&2; exit 2; }

npm_package "$HOME_DIR" playwright-core $VERSION index.js; MODULES=$(dirname "$PACKAGE")
if ! command -v chromium >/dev/null; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "chromium is not installed"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >&2 ||
    skip "apt-get could not install chromium"
fi

place=$(mktemp -d "$HOME_DIR/run/browser.XXXXXX")
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/data/kinds" && cp "$HERE/browser/stream.mjs" "$place" && ln -s "$MODULES" "$place/node_modules"
# Its notes wait for the user, so that the stream spans what happens to the server.
cat > "$place/data/kinds/explorer.md" <<'KIND'
---
name: explorer
description: Keeps a note, once the user has approved that.
tools: [create_note]
approval: [{ tools: create_note }]
---
You keep notes.
KIND
# Nothing listens there: it was free a moment ago.
port=$(node -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
ENTOURAGE_MODEL=rehearsal timeout 240 node "$place/stream.mjs" "$BINARY" "$place/data" "$port" "$(command -v chromium)" ||
  fail "a stream did not survive restarts in a browser"
