#!/usr/bin/env bash
# schemathesis (MIT) from PyPI: makes requests from the description of the API, and looks whether every
# answer is one that the description describes.
#
#   schemathesis.sh install
#   schemathesis.sh run [whole|documents]
#                                start BINARY on a free loopback port, ask it, stop it; both rounds, or one
#
# Two rounds. The first asks the whole API of a server without tokens. The second asks what belongs to documents,
# accounts and the document agent, of a server that people register at, as one of them; schemathesis-documents.py leads
# it to a project, documents and a chat that are there, and every operation must have answered a success.
#
# Bounded and the same each time: EXAMPLES requests of each sort for each operation (default 5), one seed,
# MOST_SECONDS in all (default 120 and 60). The first pass through all operations makes more than LEAST_CASES
# (default 2000 and 1000). BINARY: the program that is asked. SERVICES_HOME: where it is installed, default
# ~/.cache/entourage-services. Exit 77 with a line "SKIPPED: ..." on stderr when it cannot be had, 1 when an answer is
# not as described, when fewer cases were made or an operation was left out, and when BINARY does not serve.
set -euo pipefail
SERVICE=schemathesis VERSION=4.32.5 UNSTARTED=fail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
HOME_DIR=$(services_home) || exit
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RUN=$HOME_DIR/run WORD=entourage-described
CHECKS=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance
CHECKS=$CHECKS,response_schema_conformance,negative_data_rejection,unsupported_method

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
asked_enough() {   # asked_enough FILE LEAST_CASES
  local cases selected tested
  cases=$(sed -nE 's/^ *([0-9]+) generated\b.*/\1/p' "$1")
  selected=$(sed -nE 's#^ *Selected: ([0-9]+)/.*#\1#p' "$1")
  tested=$(sed -nE 's/^ *Tested: ([0-9]+)$/\1/p' "$1")
  [ "${cases:-0}" -ge "$2" ] && [ -n "$selected" ] && [ "$selected" = "$tested" ] && return
  echo "FAILED: $SERVICE asked too little: ${cases:-no} cases, ${tested:-none} of ${selected:-no} operations" >&2
  return 1
}

ask() {   # ask DATA SECONDS LEAST_CASES OPTION...: one round, with the server at ADDRESS
  local data=$1 seconds=$2 least=$3 failed=0; shift 3
  (cd "$data" && "$PROGRAM" run "$ADDRESS/openapi.json" --no-color "$@" \
    --phases examples,coverage,fuzzing --max-examples "${EXAMPLES:-5}" --seed 1 --generation-deterministic \
    --generation-with-security-parameters false \
    --request-timeout 20 --max-time "$seconds" --warnings off --continue-on-failure) | tee "$data.said" >&2 || failed=1
  asked_enough "$data.said" "$least" || failed=1
  rm -f "$data.said"
  return $failed
}

whole() {   # whole DATA
  start_server "$RUN" $WORD '(http://127[0-9.:]+)' 30 \
    env ENTOURAGE_MODEL=rehearsal "$BINARY" --data "$1" serve --bind 127.0.0.1:0
  # Streams have no end that a test could wait for; what they send is the suite's own business.
  ask "$1" "${MOST_SECONDS:-120}" "${LEAST_CASES:-2000}" --exclude-path-regex '/(events|stream)$|^/agent/ws$' \
    --checks $CHECKS
}

documents() {   # documents DATA
  local account='{"email": "schemathesis@example.com", "password": "correct horse battery"}' failed=0 token
  printf '[server]\nregistration = true\n[server.auth.jwt]\nalgorithm = "HS256"\nkey = "%s"\n' \
    "$(printf 'schemathesis%.0s' 1 2 3)" >"$1/entourage.toml"
  # A stale version is refused before the change is looked at.
  printf '[checks]\nmissing_required_header.expected-statuses = [428]\nnegative_data_rejection.expected-statuses = [%s]\n' \
    '400, 401, 403, 404, 405, 406, 409, 412, 415, 422, 428, 429' >"$1/schemathesis.toml"
  start_server "$RUN" $WORD '(http://127[0-9.:]+)' 30 \
    env ENTOURAGE_MODEL=rehearsal "$BINARY" --data "$1" serve --bind 127.0.0.1:0
  token=$(curl -fsS --max-time 60 "$ADDRESS/api/auth/register" -H 'content-type: application/json' -d "$account" |
    sed -nE 's/.*"access_token": *"([^"]+)".*/\1/p') && [ -n "$token" ] || fail "nobody can register"
  export ADDRESS ACCOUNT=$account TOKEN=$token REACHED=$1/reached SCHEMATHESIS_HOOKS=$HERE/schemathesis-documents.py
  ask "$1" "${MOST_SECONDS:-60}" "${LEAST_CASES:-1000}" -H "Authorization: Bearer $token" \
    --include-path-regex '^/(api/(agent|auth|projects|documents)|v1/(projects|documents))(/|$)' \
    --checks $CHECKS,missing_required_header,ignored_auth || failed=1
  cat "$REACHED" >&2
  if grep -q ^MISSED "$REACHED"; then
    echo "FAILED: $SERVICE: an operation never answered a success" >&2; failed=1
  fi
  return $failed
}

run() {
  install
  [ -x "${BINARY:-}" ] || { echo "BINARY names no program: ${BINARY:-}" >&2; exit 2; }
  local data failed=0 round
  for round in ${1:-whole documents}; do
    data=$(mktemp -d "$RUN/$WORD.XXXXXX")
    $round "$data" || failed=1
    stop_servers "$RUN" $WORD "$ADDRESS"
    rm -rf "$data"
  done
  return $failed
}

case ${1:-run} in
  install) install ;;
  run) run "${2:-}" ;;
  *) sed -n '2,19p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
