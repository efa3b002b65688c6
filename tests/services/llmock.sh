#!/usr/bin/env bash
# llmock (MIT) from the Python package registry: a fake provider that breaks on demand and judges its client.
#
#   llmock.sh install
#   llmock.sh start        start it on a free loopback port; print the base URL
#   llmock.sh report URL   print its verdict on everything it was asked; exit 1 unless it finds no fault at all
#   llmock.sh stop [URL]   stop the one at URL, or all that were started
#
# With the printed URL: URL/v1 (OpenAI Chat Completions and Responses), URL/anthropic (Messages). No key is needed.
# SERVICES_HOME: where it is installed, default ~/.cache/entourage-services.
# Exit 77 with a line "SKIPPED: ..." on stderr when it cannot be had. Needs Python 3.10 or newer with venv.
set -euo pipefail
SERVICE=llmock VERSION=0.2.2
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
HOME_DIR=$(services_home) || exit
RUN=$HOME_DIR/run WORD=llmock VENV=$HOME_DIR/llmock-$VERSION

install() {
  [ -f "$VENV/ready" ] && return
  need python3
  rm -rf "$VENV"
  python3 -m venv "$VENV" >&2 || skip "python3 cannot make a virtual environment"
  "$VENV/bin/pip" install -q --only-binary :all: --retries 1 "llmock==$VERSION" >&2 || skip "pip could not install it"
  touch "$VENV/ready"
}

case ${1:-} in
  install) install ;;
  start)
    install
    # It answers slowly, so that it sees whether a client hangs up on a broken answer, and calls a tool when told to.
    start_server "$RUN" $WORD 'running on (http://[0-9.:]+)' 30 \
      env NO_COLOR=1 "$VENV/bin/llmock" serve --host 127.0.0.1 --port 0 --response-style hello --tool-mode off \
        --stream-chunk-delay-ms 50 --log-level info
    echo "$ADDRESS" ;;
  report) install; NO_COLOR=1 "$VENV/bin/llmock" report --strict --url "${2:?the URL that start printed}" ;;
  stop) stop_servers "$RUN" $WORD "${2:-}" ;;
  *) sed -n '2,12p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
