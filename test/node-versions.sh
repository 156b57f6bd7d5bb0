#!/usr/bin/env bash
# Runs the unit tests, and a cluster of the built programs, on other releases of Node than the one at hand:
#   test/node-versions.sh [version...]
# npm's package `node` brings them, into a folder for temporary files where the next run finds them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export NO_COLOR=1
[ $# -gt 0 ] || set -- 22.23.3 24.21.0 26.10.0

for version in "$@"; do
  folder="${TMPDIR:-/tmp}/compute-agent-node-$version"
  node="$folder/node_modules/node/bin/node"
  log="$folder/tests.log"
  [ -x "$node" ] || npm install --prefix "$folder" --loglevel error --no-audit --no-fund "node@$version"

  # Programs that tests start run on the tests' own Node.
  run() { "$node" node_modules/vitest/vitest.mjs run --reporter dot "$@" >"$log" 2>&1 || { cat "$log"; exit 1; }; }
  began=$SECONDS
  run --project unit
  unit=$(grep -E '^ +Tests +.*passed' "$log" | sed 's/^ *Tests *//')
  run --project process test/process/up.test.ts -t "starts hosts of its own, stops all of them on Ctrl-C"
  grep -qE '^ +Tests +1 passed' "$log" || { echo "no cluster was started"; exit 1; }
  echo "Node $("$node" --version): unit tests $unit; a cluster serves and stops; $((SECONDS - began)) s"
done
