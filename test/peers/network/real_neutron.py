"""neutron-server in one process, with the agents of a devstack-like cloud registered in its database.

Without agents no port can be bound and no router or network scheduled. A thread registers, once, what real agents report:
an Open vSwitch agent on devstack1, devstack2 and devstack3; DHCP, L3, metadata and metering agents on devstack1.
They stay alive for ever (agent_down_time), and ports of routers and floating IPs are ACTIVE at once. Nothing listens to the messages that the server sends them (transport fake://).
"""
import eventlet
eventlet.monkey_patch()
import collections
import hashlib
import itertools
import os
import sys
import uuid

from oslo_db import api as db_api
from oslo_utils import uuidutils

# Ids that are the same in each run: which of several records a response names first, and their order, depend on ids.
# Each caller has its own sequence, so that background tasks do not change those of requests.
id_counts = collections.Counter()


def generate_uuid(dashed=True):
    caller = sys._getframe(1).f_code
    key = '%s:%s' % (caller.co_filename, caller.co_name)
    id_counts[key] += 1
    chosen = uuid.UUID(bytes=hashlib.sha256(('%s:%d' % (key, id_counts[key])).encode()).digest()[:16], version=4)
    return str(chosen) if dashed else chosen.hex


uuidutils.generate_uuid = generate_uuid
# Neutron repeats what it takes for a conflict of transactions up to 20 times with growing pauses: a policy that needs the owner of an
# object that does not exist holds a request up for 146 s. The outcome is the same without the pauses.
db_api.wrap_db_retry._get_inc_interval = lambda self, n, jitter: (0.001, n)

import netaddr
from neutron.cmd.eventlet import server
from neutron.ipam.drivers.neutrondb_ipam import driver as ipam
from neutron.ipam import exceptions as ipam_exceptions
from neutron.db import models_v2
from neutron.db.models import l3 as l3_models
from neutron_lib import context
from neutron_lib.plugins import directory
from oslo_config import cfg
from oslo_utils import timeutils
from sqlalchemy import event


def agent(binary, kind, host, topic, **configurations):
    return {'binary': binary, 'agent_type': kind, 'host': host, 'topic': topic, 'start_flag': True, 'availability_zone': 'nova' if kind in ('DHCP agent', 'L3 agent') else None,
            'configurations': configurations, 'uuid': '', 'resource_versions': {}}


AGENTS = [agent('neutron-openvswitch-agent', 'Open vSwitch agent', 'devstack%d' % n, 'N/A', bridge_mappings={'public': 'br-ex', 'physnet1': 'br-phys'},
                tunnel_types=['vxlan', 'gre', 'geneve'], tunneling_ip='127.0.0.%d' % n, integration_bridge='br-int', datapath_type='system', devices=0, extensions=['qos', 'log'],
                ovs_capabilities={'datapath_types': ['system'], 'iface_types': ['internal', 'tap', 'vxlan']}, vhostuser_socket_dir='/var/run/openvswitch')
          for n in (1, 2, 3)] + [
    agent('neutron-dhcp-agent', 'DHCP agent', 'devstack1', 'dhcp_agent', dhcp_driver='neutron.agent.linux.dhcp.Dnsmasq', dhcp_lease_duration=86400, networks=0, ports=0, subnets=0),
    agent('neutron-l3-agent', 'L3 agent', 'devstack1', 'l3_agent', agent_mode='legacy', handle_internal_only_routers=True, interface_driver='openvswitch', routers=0,
          ex_gw_ports=0, interfaces=0, floating_ips=0, extensions=['port_forwarding']),
    agent('neutron-metadata-agent', 'Metadata agent', 'devstack1', 'N/A', metadata_proxy_socket='/var/run/metadata_proxy'),
    agent('neutron-metering-agent', 'Metering agent', 'devstack1', 'metering_agent', measure_interval=30, report_interval=300)]


def register():
    plugin = None
    while plugin is None or not cfg.CONF.state_path:
        eventlet.sleep(0.2)
        plugin = directory.get_plugin()
    eventlet.sleep(0.5)
    for state in AGENTS:
        plugin.create_or_update_agent(context.get_admin_context(), {k: v for k, v in state.items() if k != 'uuid' and v is not None}, timeutils.utcnow())
    open(os.path.join(cfg.CONF.state_path, 'agents-registered'), 'w').close()


# The address behind the last one that was chosen, by the subnet.
positions = {}


def choose_addresses(self, context, prefer_next=False, num_addresses=1):
    """Chooses the free addresses behind the last one, as the embedded service does, instead of random ones: runs are repeatable."""
    taken = {int(netaddr.IPAddress(one.ip_address)) for one in self.subnet_manager.list_allocations(context)}
    pools = [(netaddr.IPAddress(pool.first_ip), netaddr.IPAddress(pool.last_ip)) for pool in self.subnet_manager.list_pools(context)]
    pools.sort()
    subnet = self.subnet_manager.neutron_id
    start = positions.get(subnet, 0)
    behind = (range(max(int(first), start), int(last) + 1) for first, last in pools)
    free = (value for value in itertools.chain(*behind, *(range(int(first), int(last) + 1) for first, last in pools)) if value not in taken)
    chosen = list(itertools.islice(free, num_addresses))
    if len(chosen) < num_addresses or len(set(chosen)) < num_addresses:
        raise ipam_exceptions.IpAddressGenerationFailure(subnet_id=subnet)
    positions[subnet] = chosen[-1] + 1
    return [str(netaddr.IPAddress(value, pools[0][0].version)) for value in chosen]


ipam.NeutronDbSubnet._generate_ips = choose_addresses


def is_router_port(port):
    return port.device_owner in ('network:router_interface', 'network:router_gateway')


# The L2 agent reports that it has plugged the ports of routers, and the L3 agent that floating IPs work.
@event.listens_for(models_v2.Port, 'before_insert')
@event.listens_for(models_v2.Port, 'before_update')
def plug(mapper, connection, port):
    if is_router_port(port):
        port.status = 'ACTIVE'


@event.listens_for(l3_models.FloatingIP, 'before_insert')
@event.listens_for(l3_models.FloatingIP, 'before_update')
def connect(mapper, connection, floating_ip):
    floating_ip.status = 'ACTIVE' if floating_ip.router_id else 'DOWN'


eventlet.spawn(register)
sys.exit(server.main())
