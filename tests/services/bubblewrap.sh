#!/usr/bin/env bash
# CPython under bubblewrap: runs the tests that need both, which say elsewhere that they were not run.
#
# CPYTHON: the interpreter, default /usr/bin/python3. Bubblewrap and Python are installed by apt-get if they are missing
# and we may. Exit 77 with a line "SKIPPED: ..." on stderr when they cannot be had.
set -euo pipefail
SERVICE="CPython under bubblewrap"
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CPYTHON=${CPYTHON:-/usr/bin/python3}

if ! command -v bwrap >/dev/null || ! [ -x "$CPYTHON" ]; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "bubblewrap or $CPYTHON is not installed"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bubblewrap python3; } >&2 ||
    skip "apt-get could not install bubblewrap and python3"
fi
bwrap --unshare-user --unshare-pid --unshare-net --ro-bind / / true >&2 || skip "this system allows no user namespaces"

# With the features of the whole, so that little is compiled anew.
cargo build --release --quiet --workspace --examples
BWRAP=1 cargo test --release --quiet --no-fail-fast --workspace --features entourage-tests/third-party --test main --test library -- cpython:: ||
  fail "code does not run in its sandbox, leaves it, or runs otherwise than in the built-in interpreter"
