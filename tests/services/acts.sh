#!/usr/bin/env bash
# Messages to the document agent with a real, small language model, over HTTP: create a document, edit one, ask about
# one, ACTS times each (default 1, by hand 5). What the model says is not judged; what the engine guarantees is, in
# acts.py, which also prints what each message came to.
#
#   BINARY=target/release/entourage ACTS=5 bash tests/services/acts.sh
#
# LOCAL_MODEL_URL, LOCAL_MODEL_NAME: the model, where one is running; otherwise local-model.sh starts one.
# Exit 77 with a line "SKIPPED: ..." on stderr when it cannot be had, 1 when a guarantee does not hold.
set -euo pipefail
SERVICE=acts UNSTARTED=fail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=common.sh
. "$HERE/common.sh"
HOME_DIR=$(services_home) || exit
RUN=$HOME_DIR/run WORD=entourage-acted
[ -x "${BINARY:-}" ] || { echo "BINARY names no program: ${BINARY:-}" >&2; exit 2; }
need python3

data=$(mktemp -d "$RUN/$WORD.XXXXXX") own_model=
trap 'stop_servers "$RUN" $WORD "${ADDRESS:-none}"; rm -rf "$data"; [ -z "$own_model" ] || bash "$HERE/local-model.sh" stop' EXIT
if [ -z "${LOCAL_MODEL_URL:-}" ]; then
  model=$(bash "$HERE/local-model.sh" start) || exit
  own_model=yes LOCAL_MODEL_URL=$(head -n 1 <<<"$model") LOCAL_MODEL_NAME=$(tail -n 1 <<<"$model")
fi
printf '[models]\ndefault = "compatible::%s"\n[models.providers.compatible]\nbase_url = "%s"\nheader_seconds = 300\nsilence_seconds = 300\n' \
  "$LOCAL_MODEL_NAME" "$LOCAL_MODEL_URL" >"$data/entourage.toml"
start_server "$RUN" $WORD '(http://127[0-9.:]+)' 30 "$BINARY" --data "$data" serve --bind 127.0.0.1:0
python3 "$HERE/acts.py" "$ADDRESS" "${ACTS:-1}" || fail "a guarantee does not hold"
