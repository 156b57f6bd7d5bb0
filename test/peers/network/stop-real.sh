#!/bin/bash
# stop-real.sh STATE_DIR: stops what start-real.sh started there.
set -uo pipefail
for name in neutron mariadb; do
  pid=$(cat "$1/$name.pid" 2>/dev/null) || continue
  kill "$pid" 2>/dev/null
  for _ in $(seq 60); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -9 "$pid" 2>/dev/null
  rm -f "$1/$name.pid"
done
exit 0
