#!/usr/bin/env bash
# The AI SDK (Apache-2.0) of version 4 and TypeScript, from npm: every standard chunk of an exploration's stream is a
# `TextStreamPart`, and a consumer that knows nothing of Entourage takes the stream.
#
#   ai-sdk.sh        start BINARY on a free loopback port, stream an exploration, compile and run; stop it
#
# BINARY: the program that is asked. SERVICES_HOME: where packages are installed, default ~/.cache/entourage-services.
# Exit 77 with a line "SKIPPED: ..." on stderr when it cannot be had, 1 when a chunk is no such part.
set -euo pipefail
SERVICE="AI SDK" VERSION=4.3.19 TYPESCRIPT=5.9.3 UNSTARTED=fail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
HOME_DIR=$(services_home) || exit
RUN=$HOME_DIR/run WORD=entourage-streamed
[ -x "${BINARY:-}" ] || { echo "BINARY names no program: ${BINARY:-}" >&2; exit 2; }

npm_package "$HOME_DIR" typescript $TYPESCRIPT lib/tsc.js; TSC=$PACKAGE/lib/tsc.js
npm_package "$HOME_DIR" ai $VERSION dist/index.d.ts; MODULES=$(dirname "$PACKAGE")
npm_package "$HOME_DIR" @types/node 22.10.0 index.d.ts; TYPES=$(dirname "$PACKAGE")

data=$(mktemp -d "$RUN/$WORD.XXXXXX")
trap 'stop_servers "$RUN" $WORD; rm -rf "$data"' EXIT
start_server "$RUN" $WORD '(http://127[0-9.:]+)' 30 \
  env ENTOURAGE_MODEL=rehearsal "$BINARY" --data "$data" serve --bind 127.0.0.1:0
curl -sS --max-time 60 "$ADDRESS/agent/stream" -H 'content-type: application/json' \
  -d '{"prompt": "What is an exploration?"}' > "$data/stream"

mkdir "$data/check" && cp "$HERE/ai-sdk/consume.ts" "$data/check"
ln -s "$MODULES" "$data/check/node_modules"
node "$HERE/ai-sdk/parts.mjs" "$HERE/ai-sdk/chunks.json" "$data/stream" "$data/check/parts.ts"
echo '{"type": "module"}' > "$data/check/package.json"
(cd "$data/check" && node "$TSC" --strict --skipLibCheck --module nodenext --target es2022 \
  --typeRoots "$TYPES" --types node parts.ts consume.ts) || fail "a chunk is no part of the AI SDK's stream"
node "$data/check/consume.js" "$data/stream" || fail "a consumer of the AI SDK's stream does not take ours"
