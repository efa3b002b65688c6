#!/usr/bin/env bash
# What a small model gets done, all twenty tasks or those named; tests/services/run.sh runs the first five.
#
#   eval.sh [all | NAME,NAME…]
#
# BINARY: the program; PROFILE: cargo's profile, default release. Exit 77 where the model cannot be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
HERE=tests/services PROFILE=${PROFILE:-release}
if [ -z "${BINARY:-}" ]; then
  cargo build --profile "$PROFILE" --quiet -p entourage --bins
  folder=${PROFILE/#dev/debug}
  BINARY=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/$folder/entourage
fi
model=$(bash $HERE/local-model.sh start)
trap 'bash $HERE/local-model.sh stop' EXIT
LOCAL_MODEL_URL=$(head -n 1 <<<"$model") LOCAL_MODEL_NAME=$(tail -n 1 <<<"$model")
export BINARY LOCAL_MODEL_URL LOCAL_MODEL_NAME EVAL=${1:-all}
cargo test --profile "$PROFILE" --quiet --workspace --features entourage-tests/third-party --test third_party -- \
  eval::a_small_model --nocapture
