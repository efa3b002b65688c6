#!/usr/bin/env bash
# Packs a binary into a wheel and an npm package, installs each into an empty place, and has it do a task there
# with the rehearsal for a model; has systemd read the unit, and starts, reloads and stops what that names:
# packages.sh BINARY. Of the container and of `cargo install` only what they name is looked up: neither is
# built. What the machine cannot do is skipped loudly.
# Ends with a line "packages: N passed, N failed, N skipped".
set -uo pipefail
BINARY=$(realpath "${1:?packages.sh BINARY}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
WORK=$(mktemp -d); trap 'rm -rf "$WORK"' EXIT
passed=0 failed=0 skipped=0

works() {   # works PROGRAM: it answers from a file, and the note is on disk
  mkdir -p "$WORK/papers" && echo "The keyword is marzipan." >"$WORK/papers/README.md"
  rm -rf "$WORK/data"
  env -i PATH="$PATH" HOME="$WORK" ENTOURAGE_MODEL=rehearsal ENTOURAGE_DATA="$WORK/data" \
    "$1" run "What is the keyword?" --files "$WORK/papers" --quiet | grep -q marzipan && [ -s "$WORK/data/entourage.db" ]
}
wheel() {
  local file
  file=$(bash packaging/build.sh "$BINARY" "$WORK" wheel) || return
  python3 -m venv "$WORK/venv" && "$WORK/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$file" &&
    works "$WORK/venv/bin/entourage"
}
npm_package() {
  local file
  file=$(bash packaging/build.sh "$BINARY" "$WORK" npm) || return
  mkdir -p "$WORK/prefix" &&
    npm install --prefix "$WORK/prefix" --offline --no-audit --no-fund --loglevel=error "$file" &&
    works "$WORK/prefix/node_modules/.bin/entourage"
}
unit() {   # the unit's command as it stands there, with nothing but the unit's environment
  local file=$WORK/entourage.service server; : >"$WORK/unit.log"
  sed "s#/usr/local/bin/entourage#$BINARY#" packaging/entourage.service >"$file"
  systemd-analyze verify "$file" || return
  # shellcheck disable=SC2046
  env -i ENTOURAGE_DATA="$WORK/unit" ENTOURAGE_MODEL=rehearsal \
    $(sed -n 's/^ExecStart=//p' "$file") --bind 127.0.0.1:0 >"$WORK/unit.log" 2>&1 & server=$!
  logs $server 'http://127.0.0.1:' && kill -HUP $server && logs $server 'the kinds were reloaded' &&
    kill -TERM $server && wait $server && return
  kill -KILL $server; cat "$WORK/unit.log"; return 1
}
logs() {   # logs PID TEXT: within twenty seconds, that server has TEXT in its log
  local _
  for _ in $(seq 200); do
    grep -qF "$2" "$WORK/unit.log" && return
    kill -0 "$1" || break
    sleep 0.1
  done
  echo "the log has no '$2'"; return 1
}
makes() {   # makes PACKAGE PROGRAM FOLDER: that package stands in that folder, and makes that program as it is
  cargo metadata --format-version 1 --no-deps | python3 -c '
import json, sys
package, program, folder = sys.argv[1:]
for found in json.load(sys.stdin)["packages"]:
    if found["name"] == package and found["manifest_path"].endswith(f"/{folder}/Cargo.toml"):
        usual = set(found["features"]["default"])
        programs = [made for made in found["targets"] if made["kind"] == ["bin"] and made["name"] == program]
        sys.exit(not any(usual.issuperset(made.get("required-features", [])) for made in programs))
sys.exit(f"no package {package} in {folder}")' "$@"
}
container() {   # what is built is what is copied and started, with the oldest Rust that will do
  local file=packaging/Containerfile package='' program='' copied rust said
  read -r package program < <(sed -nE 's/^RUN cargo build --release --locked -p (\S+) --bin (\S+)$/\1 \2/p' "$file")
  copied=$(sed -nE 's#^COPY --from=build /source/target/release/(\S+) /usr/local/bin/\1$#\1#p' "$file")
  rust=$(sed -nE 's/^rust-version = "(.+)"$/\1/p' Cargo.toml)
  [ -n "$program" ] && [ "$copied" = "$program" ] && makes "$package" "$program" crates/entourage &&
    grep -q "^FROM .*/rust:$rust-.* AS build\$" "$file" &&
    grep -q "^CMD \[\"$program\", \"serve\", \"--bind\", \"0.0.0.0:4180\"\]\$" "$file" || return
  # Its command is understood: without tokens it is refused, and says why.
  said=$(env -i ENTOURAGE_DATA="$WORK/container" ENTOURAGE_MODEL=rehearsal timeout 20 \
    "$BINARY" serve --bind 0.0.0.0:4180 2>&1) && return 1
  grep -qF '[server.auth.jwt]' <<<"$said"
}
install_of_cargo() {   # what the pages tell to install is there, and makes a program by itself
  local folders
  folders=$(grep -ohE 'cargo install --locked --path [^` ]+' README.md packaging/README.md | sed 's/.* //' | sort -u)
  [ "$folders" = crates/entourage ] && makes entourage entourage "$folders"
}
try() {   # try WHAT FUNCTION PROGRAM...: PROGRAMs are what it needs of the machine
  local what=$1 function=$2 program; shift 2
  for program in "$@"; do
    if ! command -v "$program" >/dev/null; then
      skipped=$((skipped + 1)); echo "SKIPPED: $what: '$program' is not installed" >&2; return
    fi
  done
  if "$function"; then passed=$((passed + 1)); echo "PASSED: $what"; else failed=$((failed + 1)); echo "FAILED: $what"; fi
}

try "a wheel in an empty environment" wheel python3
try "an npm package in an empty prefix" npm_package npm node
try "the systemd unit" unit systemd-analyze
try "what the Containerfile names, though no image is built" container cargo python3
try "what cargo install is told, though nothing is installed" install_of_cargo cargo python3
echo "packages: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
