#!/usr/bin/env bash
# aimock (MIT) from npm: a scripted model that speaks many wires. All of them share the fixtures of one file.
#
#   aimock.sh install
#   aimock.sh start [FIXTURES]  start it on a free loopback port with that file (default: aimock.json here); print the base URL
#   aimock.sh stop [URL]        stop the one at URL, or all that were started
#
# With the printed URL: POST URL/v1/chat/completions and URL/v1/responses (OpenAI), URL/v1/messages (Anthropic),
# URL/api/chat (Ollama); GET URL/__aimock/journal lists the requests it saw. No key is needed.
# A request no fixture matches is answered with 503, so that nothing passes by accident.
# SERVICES_HOME: where it is installed, default ~/.cache/entourage-services.
# Exit 77 with a line "SKIPPED: ..." on stderr when it cannot be had.
set -euo pipefail
SERVICE=aimock VERSION=1.43.0
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=common.sh
. "$HERE/common.sh"
HOME_DIR=$(services_home) || exit
RUN=$HOME_DIR/run WORD=aimock
unset AIMOCK_API_KEYS AIMOCK_STRICT_TURN_INDEX   # would change what it accepts and matches

install() { need node; npm_package "$HOME_DIR" @copilotkit/aimock $VERSION dist/cli.js; }

case ${1:-} in
  install) install ;;
  start)
    fixtures=${2:-$HERE/aimock.json}
    [ -f "$fixtures" ] || { echo "no such fixture file: $fixtures" >&2; exit 2; }
    install
    # A mistake in our own fixtures is an error, not a reason to skip; the server would only die of it.
    node "$PACKAGE/dist/aimock-cli.js" validate "$fixtures" >&2 || exit 2
    start_server "$RUN" $WORD 'listening on (http://[0-9.:]+)' 30 \
      node "$PACKAGE/dist/cli.js" --port 0 --host 127.0.0.1 --fixtures "$fixtures" --strict --chunk-size 8
    echo "$ADDRESS" ;;
  stop) stop_servers "$RUN" $WORD "${2:-}" ;;
  *) sed -n '2,12p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
