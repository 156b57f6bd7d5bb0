#!/bin/bash
# run-samples.sh PEER APP [ARGUMENT...]: runs Nova's tests of API samples against clusters of the built checkout APP, with
# networks and floating IPs. PEER is the folder with samples.py, bb.py and srv.mjs; arguments go to samples.py (a pattern, -v, --all).
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
peer=$(realpath "$1")
app=$(realpath "$2")
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
port=$(mktemp -u "${TMPDIR:-/tmp}/nova-samples.XXXXXX")
node "$peer/srv.mjs" "$app" "$port" >"$port.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -f "$port" "$port.log"' EXIT
for _ in $(seq 100); do [ -s "$port" ] && break; sleep 0.1; done
BB_PORTFILE=$port /usr/bin/python3 -W ignore "$here/samples_with_networks.py" "$peer" "$app" "$@" 2>&1
