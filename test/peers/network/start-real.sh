#!/bin/bash
# start-real.sh STATE_DIR PORT: starts Debian's Neutron (packages neutron-server, python3-neutron, mariadb-server,
# python3-pymysql) on 127.0.0.1:PORT with an empty database of its own, and returns when it responds. STATE_DIR/policy.d has
# its policies. Credentials are request headers. stop-real.sh STATE_DIR stops it. Needs root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
state=$(cd "$1" && pwd) port=$2 socket=$1/s
mkdir -p "$state/lock" "$state/policy.d"
sql() { mariadb --no-defaults -uroot -S "$socket" "$@"; }

mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$state/data" \
  --auth-root-authentication-method=normal --skip-test-db >"$state/mariadb-install.log" 2>&1
setsid /usr/sbin/mariadbd --no-defaults --user="$(id -un)" --datadir="$state/data" --socket="$socket" --skip-networking \
  --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 --sync-binlog=0 \
  --performance-schema=0 --max-connections=100 --innodb-lock-wait-timeout=1 >"$state/mariadb.log" 2>&1 </dev/null &
echo $! >"$state/mariadb.pid"
for _ in $(seq 1200); do sql -e 'select 1' >/dev/null 2>&1 && break; sleep 0.05; done

cat >"$state/api-paste.ini" <<EOP
[composite:neutron]
use = egg:Paste#urlmap
/: versions
/v2.0: api
[pipeline:api]
pipeline = request_id catch_errors headers extensions app
[pipeline:versions]
pipeline = versions_app
[filter:request_id]
paste.filter_factory = oslo_middleware:RequestId.factory
[filter:catch_errors]
paste.filter_factory = oslo_middleware:CatchErrors.factory
[filter:headers]
paste.filter_factory = neutron.auth:NeutronKeystoneContext.factory
[filter:extensions]
paste.filter_factory = neutron.api.extensions:plugin_aware_extension_middleware_factory
[app:versions_app]
paste.app_factory = neutron.pecan_wsgi.app:versions_factory
[app:app]
paste.app_factory = neutron.api.v2.router:APIRouter.factory
EOP
cat >"$state/neutron.conf" <<EOC
[DEFAULT]
debug = false
log_file = $state/neutron.log
state_path = $state
bind_host = 127.0.0.1
bind_port = $port
core_plugin = ml2
service_plugins = router,metering,qos,trunk,port_forwarding,segments,flavors,auto_allocate,log,conntrack_helper,local_ip,ndp_proxy,network_segment_range
api_workers = 0
rpc_workers = 0
rpc_state_report_workers = 0
transport_url = fake://
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
agent_down_time = 1000000000
allow_automatic_l3agent_failover = false
api_paste_config = $state/api-paste.ini
dns_domain = openstacklocal.
default_availability_zones = nova
[database]
connection = mysql+pymysql://root@localhost/neutron?unix_socket=$socket&charset=utf8
[oslo_concurrency]
lock_path = $state/lock
[oslo_policy]
enforce_new_defaults = true
enforce_scope = false
policy_dirs = $state/policy.d
[ml2]
type_drivers = flat,vlan,vxlan,gre,geneve,local
tenant_network_types = vxlan
mechanism_drivers = openvswitch
extension_drivers = port_security,qos,dns_domain_ports,uplink_status_propagation
[ml2_type_flat]
flat_networks = public
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:199,public
[ml2_type_vxlan]
vni_ranges = 1:1000
[ml2_type_gre]
tunnel_id_ranges = 1:1000
[ml2_type_geneve]
vni_ranges = 1:1000
[securitygroup]
enable_security_group = true
EOC


# The schema is a dump of what `neutron-db-manage upgrade heads` makes; for another version that command takes a minute.
sql -e 'create database neutron character set utf8'
version=$(dpkg-query -W -f '${Version}' python3-neutron | sed -E 's/^[0-9]+://; s/-.*//')
if [ -f "$here/neutron-$version.sql.gz" ]; then
  zcat "$here/neutron-$version.sql.gz" | sql neutron
else
  neutron-db-manage --config-file "$state/neutron.conf" upgrade heads >"$state/db-sync.log" 2>&1
fi

# Neutron lists unknown attributes in the order of a set.
PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 setsid /usr/bin/python3 "$here/real_neutron.py" --config-file "$state/neutron.conf" \
  >"$state/server.log" 2>&1 </dev/null &
pid=$!
echo "$pid" >"$state/neutron.pid"
for _ in $(seq 3000); do
  if ! kill -0 "$pid" 2>/dev/null; then tail -20 "$state/server.log" >&2; exit 1; fi
  if [ -f "$state/agents-registered" ] && (exec 3<>"/dev/tcp/127.0.0.1/$port" &&
    printf 'GET / HTTP/1.0\r\n\r\n' >&3 && timeout 20 head -1 <&3 | grep -q ' 200 ') 2>/dev/null; then exit 0; fi
  sleep 0.1
done
echo "start-real.sh: no response on port $port; see $state/server.log" >&2
exit 1
