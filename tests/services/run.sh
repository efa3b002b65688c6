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
  if bash $HERE/acts.sh; then passed=$((passed + 1)); echo "PASSED: what is guaranteed of messages about documents"
  else missing $? "what is guaranteed of messages about documents"; fi
  bash $HERE/local-model.sh stop
else
  missing $? "the eval, the main job, the examples, a goal and messages about documents with a real language model"
fi

bash $HERE/schemathesis.sh run; described=$?
case $described in
  0) passed=$((passed + 1)); echo "PASSED: every answer is as the API's description has it" ;;
  *) missing $described "every answer is as the API's description has it" ;;
esac

bash $HERE/ai-sdk.sh; parts=$?
case $parts in
  0) passed=$((passed + 1)); echo "PASSED: an exploration's chunks are parts of the AI SDK's stream" ;;
  *) missing $parts "an exploration's chunks are parts of the AI SDK's stream" ;;
esac

bash $HERE/browser.sh; browser=$?
case $browser in
  0) passed=$((passed + 1)); echo "PASSED: a browser follows an exploration through restarts" ;;
  *) missing $browser "a browser follows an exploration through restarts" ;;
esac
bash $HERE/console.sh; console=$?
case $console in
  0) passed=$((passed + 1)); echo "PASSED: the console in a browser (by ${SECONDS}s)" ;;
  *) missing $console "the console in a browser" ;;
esac

bash $HERE/bubblewrap.sh; bubblewrap=$?
case $bubblewrap in
  0) passed=$((passed + 1)); echo "PASSED: CPython runs agents' code under bubblewrap, and nothing leaves it" ;;
  *) missing $bubblewrap "CPython runs agents' code under bubblewrap, and nothing leaves it" ;;
esac

bash $HERE/outages.sh; outages=$?
case $outages in
  0) passed=$((passed + 1)); echo "PASSED: a disk that is full, read-only or held is waited for" ;;
  *) missing $outages "a disk that is full, read-only or held is waited for" ;;
esac

for by in database restate; do
  RUNS=16 bash $HERE/cluster.sh $by; cluster=$?
  what="processes that share a database are killed, frozen and cut off, where wake-ups come from: $by"
  case $cluster in
    0) passed=$((passed + 1)); echo "PASSED: $what (by ${SECONDS}s)" ;;
    *) missing $cluster "$what" ;;
  esac
done

echo "third parties: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
