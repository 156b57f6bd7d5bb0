#!/bin/bash
# stop-real.sh STATE_DIR: stops what start-real.sh started there.
set -uo pipefail
# A zombie has ended; its parent has only not reaped it yet.
runs() { # pid
  local line
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  line=${line##*) }
  [ "${line:0:1}" != Z ]
}
end() { # pid file, what the process must be
  local pid
  [ -f "$1" ] || return 0
  pid=$(cat "$1")
  if [ -n "$pid" ] && grep -qa "$2" "/proc/$pid/cmdline" 2>/dev/null; then
    kill -TERM "$pid" 2>/dev/null
    for _ in $(seq 1 100); do runs "$pid" || break; sleep 0.05; done
    kill -KILL -- "-$pid" 2>/dev/null
  fi
  rm -f "$1"
}
end "$1/pid" gunicorn
end "$1/mariadb.pid" mariadbd
exit 0
