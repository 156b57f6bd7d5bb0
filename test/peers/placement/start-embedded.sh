#!/bin/bash
# start-embedded.sh STATE_DIR PORT [PROFILE]: (re)starts the built stand-alone server with an empty database on
# 127.0.0.1:PORT and returns when it responds. PROFILE (default: $PLACEMENT_PROFILE, else "default") is what a gabbi file
# needs: default, cors, open-policy, secure-rbac, legacy-rbac. STATE_DIR/pid contains the server's pid.
set -euo pipefail
state=$1 port=$2 profile=${3:-${PLACEMENT_PROFILE:-default}}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
dist=${PLACEMENT_DIST:-$root/dist}

"$(dirname "${BASH_SOURCE[0]}")/stop-embedded.sh" "$state"
mkdir -p "$state"
rm -f "$state"/placement.sqlite* "$state/log"
conf=$state/placement.conf
printf '[api]\nauth_strategy = noauth2\n' >"$conf"
case $profile in
  default) ;;
  cors) printf '[cors]\nallowed_origin = http://valid.example.com\nallow_headers = openstack-api-version\n' >>"$conf" ;;
  open-policy)
    printf '[oslo_policy]\npolicy_file = policy.yaml\n' >>"$conf"
    sed -n 's/^  route("[A-Z]*", [^ ]*, "\([a-z_:]*\)".*/"placement:\1": "@"/p' \
      "$root"/src/control-plane/placement/handlers/*.ts | sort -u >"$state/policy.yaml"
    ;;
  secure-rbac) printf '[oslo_policy]\nenforce_scope = true\nenforce_new_defaults = true\n' >>"$conf" ;;
  legacy-rbac) printf '[oslo_policy]\nenforce_scope = true\nenforce_new_defaults = false\n' >>"$conf" ;;
  *) echo "start-embedded.sh: no such profile: $profile" >&2; exit 2 ;;
esac

setsid node "$dist/bin/compute-cluster.js" placement --port "$port" --database "$state/placement.sqlite" \
  --config-file "$conf" >"$state/log" 2>&1 </dev/null &
pid=$!
echo "$pid" >"$state/pid"
for _ in $(seq 1 400); do
  if grep -qs "^placement ready" "$state/log"; then exit 0; fi
  if ! kill -0 "$pid" 2>/dev/null; then break; fi
  sleep 0.02
done
echo "start-embedded.sh: the server did not start" >&2
cat "$state/log" >&2
exit 1
