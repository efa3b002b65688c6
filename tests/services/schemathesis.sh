#!/usr/bin/env bash
# schemathesis (MIT) from PyPI: makes requests from the description of the API, and looks whether every
# answer is one that the description describes.
#
#   schemathesis.sh install
#   schemathesis.sh run          start BINARY on a free loopback port, ask it, stop it
#
# Bounded and the same each time: EXAMPLES requests of each sort for each operation (default 5), one seed,
# MOST_SECONDS in all (default 120). The first round through all operations makes more than LEAST_CASES (default 2000).
# BINARY: the program that is asked. SERVICES_HOME: where it is installed, default ~/.cache/entourage-services.
# Exit 77 with a line "SKIPPED: ..." on stderr when it cannot be had, 1 when an answer is not as described, when fewer
# cases were made or an operation was left out, and when BINARY does not serve.
set -euo pipefail
SERVICE=schemathesis VERSION=4.32.5 UNSTARTED=fail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
HOME_DIR=$(services_home) || exit
RUN=$HOME_DIR/run WORD=entourage-described

install() {
  local venv=$HOME_DIR/schemathesis-$VERSION tmp
  PROGRAM=$venv/bin/schemathesis
  [ -x "$PROGRAM" ] && return
  need python3
  tmp=$(mktemp -d "$HOME_DIR/tmp.XXXXXX") || skip "cannot write to $HOME_DIR"
  # Few retries: without a registry the skip should come soon.
  if ! { python3 -m venv "$tmp/try" && "$tmp/try/bin/pip" install --quiet --retries 1 "schemathesis==$VERSION"; } >&2; then
    rm -rf "$tmp"; skip "pip could not install schemathesis==$VERSION"
  fi
  rm -rf "$tmp"
  # Again in its place, from the cache: an environment cannot be moved.
  { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --retries 1 "schemathesis==$VERSION"; } >&2 ||
    { rm -rf "$venv"; skip "pip could not install schemathesis==$VERSION"; }
}

# A run whose time is up has passed, however little it got to ask: its own summary tells.
asked_enough() {   # asked_enough FILE
  local cases selected tested
  cases=$(sed -nE 's/^ *([0-9]+) generated\b.*/\1/p' "$1")
  selected=$(sed -nE 's#^ *Selected: ([0-9]+)/.*#\1#p' "$1")
  tested=$(sed -nE 's/^ *Tested: ([0-9]+)$/\1/p' "$1")
  [ "${cases:-0}" -ge "${LEAST_CASES:-2000}" ] && [ -n "$selected" ] && [ "$selected" = "$tested" ] && return
  echo "FAILED: $SERVICE asked too little: ${cases:-no} cases, ${tested:-none} of ${selected:-no} operations" >&2
  return 1
}

run() {
  install
  [ -x "${BINARY:-}" ] || { echo "BINARY names no program: ${BINARY:-}" >&2; exit 2; }
  local data said failed=0
  data=$(mktemp -d "$RUN/$WORD.XXXXXX") said=$data.said
  start_server "$RUN" $WORD '(http://127[0-9.:]+)' 30 \
    env ENTOURAGE_MODEL=rehearsal "$BINARY" --data "$data" serve --bind 127.0.0.1:0
  # Streams have no end that a test could wait for; what they send is the suite's own business.
  (cd "$data" && "$PROGRAM" run "$ADDRESS/openapi.json" --no-color --exclude-path-regex '/events$|^/agent/(stream|ws)$' \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,negative_data_rejection,unsupported_method \
    --phases examples,coverage,fuzzing --max-examples "${EXAMPLES:-5}" --seed 1 --generation-deterministic \
    --generation-with-security-parameters false \
    --request-timeout 20 --max-time "${MOST_SECONDS:-120}" --warnings off --continue-on-failure) | tee "$said" >&2 || failed=1
  stop_servers "$RUN" $WORD "$ADDRESS"
  asked_enough "$said" || failed=1
  rm -rf "$data" "$said"
  return $failed
}

case ${1:-run} in
  install) install ;;
  run) run ;;
  *) sed -n '2,12p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
