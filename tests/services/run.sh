#!/usr/bin/env bash
# The tests that need programs of others: starts each program, runs its tests, stops it. What cannot
# be had is skipped loudly and never counts as passed. The last line counts all of them.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
HERE=tests/services
passed=0 failed=0 skipped=0

run_tests() {   # run_tests WHAT FILTER [JUDGE...]: one module of the third-party tests, and who has the last word
  local what=$1 filter=$2; shift 2
  if cargo test --release --quiet --workspace --features entourage-tests/third-party --test third_party -- "$filter" --nocapture && "${@:-true}"; then
    passed=$((passed + 1)); echo "PASSED: $what (by ${SECONDS}s)"
  else
    failed=$((failed + 1)); echo "FAILED: $what (by ${SECONDS}s)"
  fi
}
run_script() {   # run_script SECONDS WHAT SCRIPT [ARGUMENT...]: one script of this folder, which hangs if it takes longer
  local seconds=$1 what=$2; shift 2
  timeout -k 30 "$seconds" bash "$HERE/$1" "${@:2}"
  local status=$?
  case $status in
    0) passed=$((passed + 1)); echo "PASSED: $what (by ${SECONDS}s)" ;;
    124) failed=$((failed + 1)); echo "FAILED: $what: not over after $seconds s" ;;
    *) missing $status "$what" ;;
  esac
}
missing() {   # missing STATUS WHAT: skipped, or failed for a reason of our own
  if [ "$1" = 77 ]; then skipped=$((skipped + 1)); echo "SKIPPED: $2"; else failed=$((failed + 1)); echo "FAILED: $2"; fi
}

if [ -z "${BINARY:-}" ]; then
  cargo build --release --quiet -p entourage --bins --examples || exit 1
  BINARY=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/entourage
fi
export BINARY

if AIMOCK_URL=$(bash $HERE/aimock.sh start); then
  export AIMOCK_URL
  run_tests "a fake provider on every wire" wires::
  bash $HERE/aimock.sh stop "$AIMOCK_URL"
else
  missing $? "a fake provider on every wire"
fi

if LLMOCK_URL=$(bash $HERE/llmock.sh start); then
  export LLMOCK_URL
  run_tests "a fake provider that breaks, on every wire" faults:: bash $HERE/llmock.sh report "$LLMOCK_URL"
  bash $HERE/llmock.sh stop "$LLMOCK_URL"
else
  missing $? "a fake provider that breaks, on every wire"
fi

run_tests "the eval's judges" eval::a_script

if MCP_COMMAND=$(bash $HERE/mcp-everything.sh) && model=$(bash $HERE/local-model.sh start); then
  export MCP_COMMAND
  LOCAL_MODEL_URL=$(head -n 1 <<<"$model") LOCAL_MODEL_NAME=$(tail -n 1 <<<"$model")
  export LOCAL_MODEL_URL LOCAL_MODEL_NAME
  run_tests "what a small model gets done" eval::a_small_model
  run_tests "the main job with a real language model" main_job::
  run_tests "the examples with a real language model" examples::
  run_tests "a goal with a real language model" goals::
  run_tests "explorations with a real language model" explorations::
  run_script 300 "what is guaranteed of messages about documents" acts.sh
  bash $HERE/local-model.sh stop
else
  missing $? "the eval, the main job, the examples, a goal and messages about documents with a real language model"
fi

MOST_SECONDS=60 run_script 400 "every answer is as the API's description has it" schemathesis.sh run
run_script 400 "an exploration's chunks are parts of the AI SDK's stream" ai-sdk.sh
run_script 400 "a browser follows an exploration through restarts" browser.sh
run_script 900 "the console in a browser" console.sh
run_script 400 "CPython runs agents' code under bubblewrap, and nothing leaves it" bubblewrap.sh
run_script 400 "a disk that is full, read-only or held is waited for" outages.sh
export RUNS=16
for by in database restate; do
  run_script 300 "processes that share a database are killed, frozen and cut off, where wake-ups come from: $by" cluster.sh $by
done

echo "third parties: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
