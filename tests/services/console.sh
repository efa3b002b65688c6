#!/usr/bin/env bash
# The console in a real browser: Debian's Chromium, driven by playwright-core (Apache-2.0), looked through by axe-core
# (MPL-2.0, for tests alone), both from npm. A scripted provider stands in for a model.
#
# BINARY: the program that serves. SERVICES_HOME: where packages are installed, default ~/.cache/entourage-services.
# `console.sh long` takes its long form: 1,000 refreshes and ten minutes offline. `BENCHES=target/release/entourage-benches
# console.sh budgets [REFRESHES]` measures instead what the console costs a browser, with 100,000 agents in a tree.
# Chromium is installed by apt-get if it is missing and we may. Exit 77 with a line "SKIPPED: ..." on stderr when it cannot
# be had.
set -euo pipefail
SERVICE="a browser" VERSION=1.65.1 AXE=4.14.1
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
HOME_DIR=$(services_home) || exit
[ "${1:-}" = budgets ] || [ -x "${BINARY:-}" ] || { echo "BINARY names no program: ${BINARY:-}" >&2; exit 2; }

npm_package "$HOME_DIR" playwright-core $VERSION index.js; PLAYWRIGHT=$PACKAGE
npm_package "$HOME_DIR" axe-core $AXE axe.min.js; FOUND_AXE=$PACKAGE
need_chromium

place=$(mktemp -d "$HOME_DIR/run/console.XXXXXX")
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/data" "$place/offline" "$place/node_modules" && cp "$HERE"/browser/*.mjs "$place"
ln -s "$PLAYWRIGHT" "$place/node_modules/playwright-core"
ln -s "$FOUND_AXE" "$place/node_modules/axe-core"
if [ "${1:-}" = budgets ]; then
  [ -x "${BENCHES:-}" ] || { echo "BENCHES names no program: ${BENCHES:-}" >&2; exit 2; }
  node "$place/budgets.mjs" "$(realpath "$BENCHES")" "$(command -v chromium)" "${@:2}" || fail "a budget is missed"
  exit
fi
run() { timeout 1800 node "$place/console.mjs" "$BINARY" "$place/$1" "$(free_port)" "$(command -v chromium)" "${@:2}"; }
# A minute offline is waited for beside the others.
ONLY=offline run offline "$@" & waits=$!
NOT=offline run data "$@" || failed=yes
wait "$waits" || failed=yes
[ -z "${failed:-}" ] || fail "the console does not hold in a browser"
