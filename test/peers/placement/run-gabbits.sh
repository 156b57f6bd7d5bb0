#!/bin/bash
# run-gabbits.sh RUN_GABBITS [ARGUMENT...]: runs Placement's own gabbi files in all profiles against the built
# stand-alone server (npm run build), restarted for each file, and prints the summary. RUN_GABBITS is the runner or
# its folder, with the files in the folder gabbits beside it; further arguments go to it (--only GLOB, --report FILE …).
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,4s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
runner=$(realpath "$1")
[ -d "$runner" ] && runner=$runner/run-gabbits
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
state=$(mktemp -d "${TMPDIR:-/tmp}/placement-gabbits.XXXXXX")
trap '"$here/stop-embedded.sh" "$state"; rm -rf "$state"' EXIT
# Below the kernel's range for outgoing connections, since the port must stay free while the server restarts.
free_port() {
  local candidate
  while :; do
    candidate=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$candidate") 2>/dev/null || { echo "$candidate"; return; }
  done
}
port=$(free_port)
"$runner" --url "http://127.0.0.1:$port" --gabbits "$(dirname "$runner")/gabbits" --profiles all \
  --reset "'$here/start-embedded.sh' '$state' $port" "$@"
