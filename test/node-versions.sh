#!/usr/bin/env bash
# Runs a cluster of the built programs on other releases of Node, and simulated seeds, whose traces must equal those of the
# installed Node. The newest release (the last argument) also runs the unit tests and scenarios; ALL_TESTS=1 runs them on each:
#   test/node-versions.sh [version...]
# npm's package `node` provides the releases. They are cached in a temporary folder for later runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export NO_COLOR=1
[ $# -gt 0 ] || set -- 22.23.3 24.21.0 26.10.0

# Prints seeds and the hashes of their traces on one Node.
traces() {
  { "$1" dist/test/simulator/run.js --seed 1 --seeds 4 --json || true; } | grep -oE '"(seed|hash)":"?[0-9a-f]+' | paste - - | sort
}
npm run --silent build && npx tsc -p tsconfig.bench.json
expected=$(traces node)
[ "$(wc -l <<<"$expected")" = 4 ] || { echo "no seeds were simulated: $expected"; exit 1; }

for version in "$@"; do
  folder="${TMPDIR:-/tmp}/compute-agent-node-$version"
  node="$folder/node_modules/node/bin/node"
  log="$folder/tests.log"
  [ -x "$node" ] || npm install --prefix "$folder" --loglevel error --no-audit --no-fund "node@$version" || {
    echo "Node $version cannot be had from the registry, and was not tried"
    continue
  }

  # Programs started by tests must run on the same Node.
  run() { "$node" node_modules/vitest/vitest.mjs run --reporter dot "$@" >"$log" 2>&1 || { cat "$log"; exit 1; }; }
  began=$SECONDS
  passed="no unit tests"
  if [ "$version" = "${!#}" ] || [ -n "${ALL_TESTS:-}" ]; then
    run --project unit --project scenario
    passed="$(grep -E '^ +Tests +.*passed' "$log" | sed 's/^ *Tests *//') in one process"
  fi
  run --project process test/process/up.test.ts -t "starts its hosts, stops all of them on Ctrl-C"
  grep -qE '^ +Tests +1 passed' "$log" || { echo "no cluster was started"; exit 1; }
  found=$(traces "$node")
  [ "$found" = "$expected" ] || { diff <(echo "$expected") <(echo "$found") || true; echo "seeds do otherwise on Node $version"; exit 1; }
  echo "Node $("$node" --version): $passed; a cluster serves and stops; 4 seeds do the same; $((SECONDS - began)) s"
done
