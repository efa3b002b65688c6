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
need_chromium

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
port=$(free_port)
ENTOURAGE_MODEL=rehearsal timeout 240 node "$place/stream.mjs" "$BINARY" "$place/data" "$port" "$(command -v chromium)" ||
  fail "a stream did not survive restarts in a browser"
