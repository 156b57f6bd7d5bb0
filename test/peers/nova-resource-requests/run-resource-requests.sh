#!/bin/bash
# run-resource-requests.sh PEER APP [ARGUMENT...]: runs Nova's tests of ports that request resources against clusters of the built
# checkout APP. PEER is the folder with bb.py and srv.mjs; arguments go to resource_requests.py (a pattern, -v).
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
peer=$(realpath "$1")
app=$(realpath "$2")
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
port=$(mktemp -u "${TMPDIR:-/tmp}/nova-resource-requests.XXXXXX")
node "$peer/srv.mjs" "$app" "$port" >"$port.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -f "$port" "$port.log"' EXIT
for _ in $(seq 100); do [ -s "$port" ] && break; sleep 0.1; done
BB_PORTFILE=$port /usr/bin/python3 -W ignore "$here/resource_requests.py" "$peer" "$app" "$@" 2>&1
