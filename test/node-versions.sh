#!/usr/bin/env bash
# Runs a cluster of the built programs on other releases of Node, and simulated seeds, whose traces must be those of the Node at
# hand. The newest release (the last argument) also runs the unit tests and scenarios; ALL_TESTS=1 runs them on each release:
#   test/node-versions.sh [version...]
# npm's package `node` brings them, into a folder for temporary files where the next run finds them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export NO_COLOR=1
[ $# -gt 0 ] || set -- 22.23.3 24.21.0 26.10.0

# Seeds and the hashes of their traces, as one Node has them.
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

  # Programs that tests start run on the tests' own Node.
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
