#!/bin/bash
# start-real.sh STATE_DIR PORT RPC_PORT [mariadb|sqlite|kept]: starts Debian's real Ironic (packages ironic-api, ironic-conductor,
# python3-pymysql; mariadb-server for mariadb) stand-alone with fake hardware: the API on 127.0.0.1:PORT without
# authentication, JSON-RPC to the conductor on RPC_PORT; an empty database, or with `kept` that of an earlier start.
# Returns when API and conductor serve. stop-real.sh STATE_DIR stops it.
# Whole seconds from the environment: DEPLOY_DELAY (deploy, tear-down), CLEAN_DELAY (unset: no automated cleaning), POWER_DELAY.
set -euo pipefail
mkdir -p "$1"
state=$(cd "$1" && pwd) port=$2 rpc=$3 kind=${4:-mariadb}
[ "$kind" = kept ] && kind=$(cat "$state/kind") && kept=yes
echo "$kind" >"$state/kind"
export PYTHONDONTWRITEBYTECODE=1
mkdir -p "$state"/{locks,images,httpboot,tftpboot}

if [ "$kind" = mariadb ]; then
  my=$state/mariadb socket=$state/my.sock
  mkdir -p "$my"
  [ -n "${kept:-}" ] || mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$my/data" \
    --auth-root-authentication-method=normal --skip-test-db >"$my/install.log" 2>&1
  setsid /usr/sbin/mariadbd --no-defaults --user="$(id -un)" --datadir="$my/data" --socket="$socket" \
    --pid-file="$my/own-pid" --skip-networking --skip-log-bin --max-connections=400 --performance-schema=OFF \
    --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 >"$my/log" 2>&1 </dev/null &
  echo $! >"$state/mariadb.pid"
  for _ in $(seq 1 400); do
    mariadb --no-defaults -uroot -S "$socket" -e 'select 1' >/dev/null 2>&1 && break
    sleep 0.05
  done
  mariadb --no-defaults -uroot -S "$socket" -e 'create database if not exists ironic character set utf8mb3'
  url="mysql+pymysql://root@localhost/ironic?unix_socket=$socket&charset=utf8"
else
  [ -n "${kept:-}" ] || rm -f "$state/ironic.sqlite"
  url="sqlite:///$state/ironic.sqlite"
fi

interfaces=
for interface in bios boot console deploy inspect management power raid rescue; do
  interfaces+="enabled_${interface}_interfaces = fake"$'\n'"default_${interface}_interface = fake"$'\n'
done
cat >"$state/ironic.conf" <<CONF
[DEFAULT]
pybasedir = /usr/lib/python3/dist-packages/ironic
state_path = $state
tempdir = $state
host = localhost
my_ip = 127.0.0.1
auth_strategy = noauth
rpc_transport = json-rpc
minimum_memory_warning_only = True
enabled_hardware_types = fake-hardware
$interfaces
enabled_network_interfaces = noop
default_network_interface = noop
enabled_storage_interfaces = noop
default_storage_interface = noop
enabled_vendor_interfaces = no-vendor
default_vendor_interface = no-vendor
[api]
host_ip = 127.0.0.1
port = $port
api_workers = 2
[json_rpc]
auth_strategy = noauth
host_ip = 127.0.0.1
port = $rpc
[conductor]
automated_clean = ${CLEAN_DELAY:+True}
workers_pool_size = 300
sync_power_state_interval = 0
sync_local_state_interval = 0
cache_clean_up_interval = 0
power_failure_recovery_interval = 0
node_history_cleanup_interval = 0
enable_mdns = False
clean_step_priority_override = ${CLEAN_DELAY:+bios.factory_reset:10}
[fake]
deploy_delay = ${DEPLOY_DELAY:-0}
bios_delay = ${CLEAN_DELAY:-0}
power_delay = ${POWER_DELAY:-0}
[deploy]
http_root = $state/httpboot
[dhcp]
dhcp_provider = none
[pxe]
tftp_root = $state/tftpboot
images_path = $state/images
[sensor_data]
send_sensor_data = False
[service_catalog]
auth_type = none
[oslo_messaging_notifications]
driver = noop
[oslo_concurrency]
lock_path = $state/locks
[database]
connection = $url
max_pool_size = 20
max_overflow = 100
CONF
# These two options reject an empty value.
sed -i -e 's/^automated_clean = $/automated_clean = False/' -e '/^clean_step_priority_override = $/d' "$state/ironic.conf"
if [ -z "${kept:-}" ]; then
  /usr/bin/python3 /usr/bin/ironic-dbsync --config-file "$state/ironic.conf" create_schema >"$state/dbsync.log" 2>&1 ||
    { tail -20 "$state/dbsync.log" >&2; exit 1; }
fi
cd "$state"
for part in conductor api; do
  setsid /usr/bin/python3 "/usr/bin/ironic-$part" --config-file "$state/ironic.conf" --log-file "$state/$part.log" \
    >"$state/$part.out" 2>&1 </dev/null &
  echo $! >"$state/$part.pid"
done
answers() { # port path what
  (exec 3<>"/dev/tcp/127.0.0.1/$1" &&
    printf 'GET %s HTTP/1.0\r\nHost: localhost\r\nX-OpenStack-Ironic-API-Version: 1.31\r\n\r\n' "$2" >&3 &&
    timeout 20 cat <&3 | grep -q "$3") 2>/dev/null
}
for _ in $(seq 1 1200); do
  for part in conductor api; do
    kill -0 "$(cat "$state/$part.pid")" 2>/dev/null || { tail -20 "$state/$part.out" "$state/$part.log" >&2; exit 1; }
  done
  answers "$port" /v1/drivers fake-hardware && answers "$rpc" / HTTP && exit 0
  sleep 0.05
done
echo "start-real.sh: no answer on port $port; see $state/api.log and conductor.log" >&2
exit 1
