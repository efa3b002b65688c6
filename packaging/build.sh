#!/usr/bin/env bash
# Packs a binary that is there into a wheel and an npm package: build.sh BINARY FOLDER [wheel|npm].
# Prints the path of each file, one a line. Nothing is compiled and nothing is fetched.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BINARY=$(realpath "$1") FOLDER=$(realpath "$2") WHAT=${3:-all}
VERSION=$("$BINARY" --version | cut -d' ' -f2)

if [ "$WHAT" != npm ]; then
  python3 "$HERE/wheel.py" "$BINARY" "$VERSION" "$FOLDER"
fi
if [ "$WHAT" != wheel ]; then
  stage=$(mktemp -d); trap 'rm -rf "$stage"' EXIT
  mkdir "$stage/bin"
  install -m 755 "$BINARY" "$stage/bin/entourage"
  cp "$HERE"/../LICENSE-* "$stage/"
  VERSION=$VERSION node -e '
    const { VERSION: version } = process.env
    process.stdout.write(JSON.stringify({
      name: "entourage", version, description: "Durable LLM agents in one binary",
      license: "MIT OR Apache-2.0", bin: { entourage: "bin/entourage" },
      os: [process.platform], cpu: [process.arch], files: ["bin", "LICENSE-*"],
    }, null, 2))' >"$stage/package.json"
  cd "$stage"
  echo "$FOLDER/$(npm pack --silent --pack-destination "$FOLDER")"
fi
