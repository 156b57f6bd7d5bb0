#!/bin/bash
# stop-embedded.sh STATE_DIR: stops the server that start-embedded.sh started there.
set -uo pipefail
file=$1/pid
[ -f "$file" ] || exit 0
pid=$(cat "$file")
if [ -n "$pid" ] && grep -qa 'compute-cluster' "/proc/$pid/cmdline" 2>/dev/null; then
  kill -KILL "$pid" 2>/dev/null
  for _ in $(seq 1 200); do
    [ -d "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null || break
    sleep 0.01
  done
fi
rm -f "$file"
