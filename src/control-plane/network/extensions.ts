/** An extension of the Network API. */
export interface Extension {
  readonly alias: string;
  readonly name: string;
  readonly description: string;
  /** The time of its last change. */
  readonly updated: string;
}

/** The extensions of Neutron 21 that the service has. */
export const EXTENSIONS = parse(`
address-group | Address group | Support address group | 2020-07-15T10:00:00-00:00
address-scope | Address scope | Address scopes extension. | 2015-07-26T10:00:00-00:00
agent | agent | The agent management extension. | 2013-02-03T10:00:00-00:00
agent-resources-synced | Agent's Resource View Synced to Placement | Stores success/failure of last sync to Placement | 2018-12-19T00:00:00-00:00
allowed-address-pairs | Allowed Address Pairs | Provides allowed address pairs | 2013-07-23T10:00:00-00:00
auto-allocated-topology | Auto Allocated Topology Services | Auto Allocated Topology Services. | 2016-01-01T00:00:00-00:00
availability_zone | Availability Zone | The availability zone extension. | 2015-01-01T10:00:00-00:00
availability_zone_filter | Availability Zone Filter Extension | Add filter parameters to AvailabilityZone resource | 2018-06-22T10:00:00-00:00
binding | Port Binding | Expose port bindings of a virtual port to external application | 2014-02-03T10:00:00-00:00
binding-extended | Port Bindings Extended | Expose port bindings of a virtual port to external application | 2017-07-17T10:00:00-00:00
default-subnetpools | Default Subnetpools | Provides ability to mark and use a subnetpool as the default. | 2016-02-18T18:00:00-00:00
dhcp_agent_scheduler | DHCP Agent Scheduler | Schedule networks among dhcp agents | 2013-02-07T10:00:00-00:00
dns-domain-ports | dns_domain for ports | Allows the DNS domain to be specified for a network port. | 2017-04-24T10:00:00-00:00
dns-integration | DNS Integration | Provides integration with DNS. | 2015-08-15T18:00:00-00:00
dvr | Distributed Virtual Router | Enables configuration of Distributed Virtual Routers. | 2014-06-1T10:00:00-00:00
empty-string-filtering | Empty String Filtering Extension | Allow filtering by attributes with empty string value | 2018-05-01T10:00:00-00:00
expose-l3-conntrack-helper | Expose CT target rules for conntrack helper | Expose allow adding CT target rules for conntrack helper | 2019-04-04T10:00:00-00:00
expose-port-forwarding-in-fip | Expose Floating IP port forwardings | Expose port forwarding fields in floating IP response | 2018-06-28T16:00:00-00:00
ext-gw-mode | Neutron L3 Configurable external gateway mode | Extension of the router abstraction for specifying whether SNAT should occur on the external gateway | 2013-03-28T10:00:00-00:00
external-net | Neutron external network | Adds external network attribute to network resource. | 2013-01-14T10:00:00-00:00
extra_dhcp_opt | Neutron Extra DHCP options | Extra options configuration for DHCP. For example PXE boot options to DHCP clients can be specified (e.g. tftp-server, server-ip-address, bootfile-name) | 2013-03-17T12:00:00-00:00
extraroute | Neutron Extra Route | Extra routes configuration for L3 router | 2013-02-01T10:00:00-00:00
extraroute-atomic | Atomically add/remove extra routes | Edit extra routes of a router on server side by atomically adding/removing extra routes | 2019-07-10T00:00:00+00:00
filter-validation | Filter parameters validation | Provides validation on filter parameters. | 2018-07-04T10:00:00-00:00
fip-port-details | Floating IP Port Details Extension | Add port_details attribute to Floating IP resource | 2018-04-09T10:00:00-00:00
flavors | Neutron Service Flavors | Flavor specification for Neutron advanced services. | 2015-09-17T10:00:00-00:00
floating-ip-port-forwarding | Floating IP Port Forwarding | Allow port forwarding from floating IP port to an internal port | 2018-01-19T10:00:00-00:00
floating-ip-port-forwarding-description | Floating IP Port Forwarding new attribute description | Add a description field to Port Forwarding rules | 2019-11-01T10:00:00-00:00
floating-ip-port-forwarding-detail | Floating IP port forwarding detail | Allow list floating ip return more port forwarding data, include'id' and 'internal_port_id' | 2022-05-06T10:00:00-00:00
floating-ip-port-forwarding-port-ranges | Floating IP Port Forwarding support port ranges | Add suport to port ranges | 2020-07-01T10:00:00-00:00
floatingip-pools | Floating IP Pools Extension | Provides a floating IP pools API. | 2018-03-21T10:00:00-00:00
ip-substring-filtering | IP address substring filtering | Provides IP address substring filtering when listing ports | 2017-11-28T09:00:00-00:00
ip_allocation | IP Allocation | IP allocation extension. | 2016-06-10T23:00:00-00:00
l2_adjacency | L2 Adjacency | Display L2 Adjacency for Neutron Networks. | 2016-04-12T16:00:00-00:00
l3-conntrack-helper | L3 Conntrack helper | Allow adding CT target rules for conntrack helper | 2019-04-04T10:00:00-00:00
l3-ext-ndp-proxy | Router support to enable NDP proxy | Router extension to enable ndp proxy | 2020-08-25T00:00:00-00:00
l3-flavors | Router Flavor Extension | Flavor support for routers. | 2016-05-17T00:00:00-00:00
l3-ha | HA Router extension | Adds HA capability to routers. | 2014-04-26T00:00:00-00:00
l3-ndp-proxy | name | description | 2021-06-29T10:00:00-00:00
l3-port-ip-change-not-allowed | Prevent L3 router ports IP address change extension | Prevent change of IP address for some L3 router ports | 2018-10-09T10:00:00-00:00
l3_agent_scheduler | L3 Agent Scheduler | Schedule routers among l3 agents | 2013-02-07T10:00:00-00:00
local_ip | Local IP | Support Node Local Virtual IP | 2021-07-26T10:00:00-00:00
logging | Logging API Extension | Provides a logging API for resources such as security group and firewall. | 2017-01-01T10:00:00-00:00
metering | Neutron Metering | Neutron Metering extension. | 2013-06-12T10:00:00-00:00
metering_source_and_destination_fields | Neutron Metering with source and destination filtering | Neutron Metering extension that enables the use of source and destination IP prefixes to create metering label rules. | 2020-08-21T08:12:00-00:00
multi-provider | Multi Provider Network | Expose mapping of virtual networks to multiple physical networks | 2013-06-27T10:00:00-00:00
net-mtu | Network MTU | Provides MTU attribute for a network resource. | 2015-03-25T10:00:00-00:00
net-mtu-writable | Network MTU (writable) | Provides a writable MTU attribute for a network resource. | 2017-07-12T00:00:00-00:00
network-ip-availability | Network IP Availability | Provides IP availability data for each network and subnet. | 2015-09-24T00:00:00-00:00
network-segment-range | Neutron Network Segment Range | Provides support for the network segment range management | 2018-11-29T00:00:00-00:00
network_availability_zone | Network Availability Zone | Availability zone support for network. | 2015-01-01T10:00:00-00:00
pagination | Pagination support | Extension that indicates that pagination is enabled. | 2016-06-12T00:00:00-00:00
port-device-profile | Port device profile | Expose the port device profile (Cyborg) | 2020-12-17T10:00:00-00:00
port-mac-address-regenerate | Neutron Port MAC address regenerate | Network port MAC address regenerate | 2018-05-03T10:00:00-00:00
port-mac-override | Neutron Port MAC address override | Allow overriding the MAC address of a direct-physical Port via the active binding profile | 2022-03-18T10:00:00-00:00
port-numa-affinity-policy | Port NUMA affinity policy | Expose the port NUMA affinity policy | 2020-07-08T10:00:00-00:00
port-resource-request | Port Resource Request | Expose resource request to Port | 2018-05-08T10:00:00-00:00
port-resource-request-groups | Port Resource Request Groups | Support requesting multiple groups of resources and traits from the same RP subtree in resource_request | 2021-08-02T10:00:00-00:00
port-security | Port Security | Provides port security | 2012-07-23T10:00:00-00:00
port-security-groups-filtering | Port filtering on security groups | Provides security groups filtering when listing ports | 2018-01-09T09:00:00-00:00
project-id | project_id field enabled | Extension that indicates that project_id field is enabled. | 2016-09-09T09:09:09-09:09
provider | Provider Network | Expose mapping of virtual networks to physical networks | 2012-09-07T10:00:00-00:00
qos | Quality of Service | The Quality of Service extension. | 2015-06-08T10:00:00-00:00
qos-bw-limit-direction | Direction for QoS bandwidth limit rule | Allow to configure QoS bandwidth limit rule with specific direction: ingress or egress | 2017-04-10T10:00:00-00:00
qos-bw-minimum-ingress | Ingress direction for QoS minimum bandwidth rule | Allow to configure QoS minumum bandwidth rule with ingress direction. | 2018-07-09T10:00:00-00:00
qos-default | QoS default policy | Expose the QoS default policy per project | 2017-041-06T10:00:00-00:00
qos-fip | Floating IP QoS | The floating IP Quality of Service extension | 2017-07-20T00:00:00-00:00
qos-gateway-ip | Router gateway IP QoS | The Router gateway IP Quality of Service extension | 2018-02-24T00:00:00-00:00
qos-port-network-policy | QoS port network policy ID | Adds a the QoS network ID to the port definition | 2019-11-01T10:00:00-00:00
qos-pps | QoS Rule Type Packet per Second Extension | Add QoS Rule Type Packet per Second | 2021-05-12T10:00:00-00:00
qos-pps-minimum | QoS minimum packet rate rule | Allow to configure QoS minimum packet rate rule. | 2021-07-14T10:00:00-00:00
qos-pps-minimum-rule-alias | QoS minimum packet rate rule alias | API to enable GET, PUT and DELETE operations on QoS minimum packet rate rule without specifying policy ID | 2021-10-22T10:00:00-00:00
qos-rule-type-details | Details of QoS rule types | Expose details about QoS rule types supported by loaded backend drivers | 2017-06-22T10:00:00-00:00
qos-rule-type-filter | Allow to filter the list of QoS rule types | Allows to filter the QoS rule type list adding two new flags. "all_rules" prints all implemented QoS rule types."all_supported" prints all supported QoS rule types by the loaded mechanism drivers | 2022-02-02T10:00:00-00:00
qos-rules-alias | Quality of Service rules alias API | API to enable GET, PUT and DELETE operations on QoS policy rules without specifying policy ID | 2018-10-07T10:00:00-00:00
quota-check-limit | Quota engine limit check | Support for checking the resource usage before applying a new quota limit | 2021-09-08T16:00:00-00:00
quota_details | Quota details management support | Expose functions for quotas usage statistics per project | 2017-02-10T10:00:00-00:00
quotas | Quota management support | Expose functions for quotas management per project | 2012-07-29T10:00:00-00:00
rbac-address-group | Add address_group type to RBAC | Add address_group type to network RBAC | 2021-01-20T00:00:00-00:00
rbac-address-scope | Add address_scope type to RBAC | Add address_scope type to RBAC | 2020-02-12T00:00:00-00:00
rbac-policies | RBAC Policies | Allows creation and modification of policies that control tenant access to resources. | 2015-06-17T12:15:12-00:00
rbac-security-groups | Add security_group type to network RBAC | Add security_group type to network RBAC | 2019-02-14T00:00:00-00:00
rbac-subnetpool | Add subnetpool type to RBAC | Add subnetpool type to RBAC | 2020-02-05T00:00:00-00:00
revision-if-match | If-Match constraints based on revision_number | Extension indicating that If-Match based on revision_number is supported. | 2016-12-11T00:00:00-00:00
router | Neutron L3 Router | Router abstraction for basic L3 forwarding between L2 Neutron networks and access to external networks via a NAT gateway. | 2012-07-20T10:00:00-00:00
router-admin-state-down-before-update | Enforce Router's Admin State Down Before Update Extension | Ensure that the admin state of a router is DOWN (admin_state_up=False) before updating the distributed attribute | 2019-07-02T15:56:00
router_availability_zone | Router Availability Zone | Availability zone support for router. | 2015-01-01T10:00:00-00:00
security-group | security-group | The security groups extension. | 2012-10-05T10:00:00-00:00
security-groups-normalized-cidr | Normalized CIDR field for security group rules | Add new field with normalized remote_ip_prefix cidr in SG rule | 2020-07-28T10:00:00-00:00
security-groups-remote-address-group | Remote address group id field for security group rules | Add new field of remote address group id in SG rules | 2020-08-25T10:00:00-00:00
security-groups-shared-filtering | Security group filtering on the shared field | Support filtering security groups on the shared field | 2021-10-05T09:00:00-00:00
segment | Segment | Segments extension. | 2016-02-24T17:00:00-00:00
segments-peer-subnet-host-routes | Segments peer-subnet host routes | Add host routes to subnets on a routed network (segments) | 2018-06-12T10:00:00-00:00
service-type | Neutron Service Type Management | API for retrieving service providers for Neutron advanced services | 2013-01-20T00:00:00-00:00
sorting | Sorting support | Extension that indicates that sorting is enabled. | 2016-06-12T00:00:00-00:00
standard-attr-description | standard-attr-description | Extension to add descriptions to standard attributes | 2016-02-10T10:00:00-00:00
standard-attr-revisions | Resource revision numbers | This extension will display the revision number of neutron resources. | 2016-04-11T10:00:00-00:00
standard-attr-segment | Standard Attribute Segment Extension | Add standard attributes to Segment resource | 2018-04-09T10:00:00-00:00
standard-attr-tag | Tag support for resources with standard attribute: port, subnet, subnetpool, network, security_group, router, floatingip, policy, trunk, network_segment_range | Enables to set tag on resources with standard attribute. | 2017-01-01T00:00:00-00:00
standard-attr-timestamp | Resource timestamps | Adds created_at and updated_at fields to all Neutron resources that have Neutron standard attributes. | 2016-09-12T10:00:00-00:00
stateful-security-group | Stateful security group | Indicates if the security group is stateful or not | 2019-11-26T09:00:00-00:00
subnet-segmentid-writable | Subnet SegmentID (writable) | Provides a writable segment_id attribute for a subnet resource. | 2018-03-12T00:00:00-00:00
subnet-service-types | Subnet service types | Provides ability to set the subnet service_types field | 2016-03-15T18:00:00-00:00
subnet_allocation | Subnet Allocation | Enables allocation of subnets from a subnet pool | 2015-03-30T10:00:00-00:00
subnet_onboard | Subnet Onboard | Provides support for onboarding subnets into subnet pools | 2018-12-18T09:00:00-00:00
subnetpool-prefix-ops | Subnet Pool Prefix Operations | Provides support for adjusting the prefix list of subnet pools | 2019-02-08T10:00:00-00:00
trunk | Trunk Extension | Provides support for trunk ports | 2016-01-01T10:00:00-00:00
trunk-details | Trunk port details | Expose trunk port details | 2016-01-01T10:00:00-00:00
uplink-status-propagation | Uplink status propagation extension | Provides ability to propagate port uplink status. | 2018-05-31T18:00:00-00:00
`);

/** Extensions that a Neutron 21 of devstack lacks. The service has those that its resources and attributes name. */
export const FURTHER_EXTENSIONS = parse(`
aap-reject-multicast | Allowed address pairs reject multicast extension | Reject multicast addresses in Allowed Address Pairs | 2026-04-01T00:00:00-00:00
enable-default-route-bfd | Enable Default Route BFD | Enables configurable BFD behavior for default routes | 2023-02-27T00:00:00-00:00
enable-default-route-ecmp | Enable Default Route ECMP | Enables configurable ECMP behavior for default routes | 2023-02-27T00:00:00-00:00
evpn | EVPN | Router extension to support EVPN Type-5 route advertisement | 2026-04-28T00:00:00-00:00
external-gateway-multihoming | Neutron L3 External Gateway Multihoming | Allow multiple external gateway ports per router | 2023-01-18T00:00:00-00:00
floating-ip-distributed | Floating IP Distributed Extension | Add distributed attribute to Floating IP resource | 2022-08-30T10:00:00-00:00
l3-agent-scheduler-ha-chassis-priority | L3 Agent Scheduler HA Chassis Priority | Exposes the HA_Chassis priority in the L3 Agent Scheduler API responses and allows setting priority when scheduling a router to a chassis. | 2026-03-31T00:00:00-00:00
network-ip-availability-details | Network IP Availability Details Extension | Add ip_availability_details attribute to network-ip-availabilities resource. | 2025-10-31T00:00:00-00:00
network_ha | Network HA creation flag | Network high availability creation flag. | 2023-04-27T10:00:00-00:00
port-hardware-offload-type | Port hardware offload | Expose port hardware offload extension | 2023-05-09T10:00:00-00:00
port-hint-ovs-tx-steering | Port hint: Open vSwitch Tx steering | Enable Port hint: Open vSwitch Tx steering | 2023-01-01T00:00:00-00:00
port-hints | Port hints | Backend specific port hints to allow backend specific tuning | 2023-01-01T00:00:00-00:00
port-numa-affinity-policy-socket | Port NUMA affinity policy "socket" | Adds "socket" to the supported port NUMA affinity policies | 2024-02-09T10:00:00-00:00
port-trusted-vif | Port trusted vif | Expose port 'trusted' attribute in the API | 2024-07-10T10:00:00-00:00
pvlan | Private VLAN | The Private VLAN semantics extension. | 2026-02-03T10:00:00-00:00
qinq | QinQ networks | Expose network 'qinq' attribute in the API. This allows to configure network to allow vlan in vlan configuration using 0x88a8 ethertype (QinQ). | 2024-12-02T10:00:00-00:00
quota-check-limit-default | Quota engine limit check by default | By default, the Neutron quota engine checks the resource usage before applying a new quota limit | 2024-08-21T16:00:00-00:00
router-enable-snat | Exposes the router "enable_snat" read-only configuration flag | Exposes the router "enable_snat" read-only configuration flag | 2025-09-18T18:00:00-00:00
security-groups-default-rules | Default rules for security groups | Configure set of security group rules used as default rules for every new security group | 2022-12-19T10:00:00-00:00
security-groups-default-statefulness | Security Groups Default Statefulness | Allows configuring the default value of the 'stateful' attribute for new security groups, on a per-project or system-wide basis | 2026-04-13T00:00:00-00:00
security-groups-rules-belongs-to-default-sg | Security group rule belongs to the project's default security group | Flag to determine if the security group rule belongs to the project's default security group | 2023-05-23T10:00:00-00:00
subnet-external-network | Subnet belongs to an external network | Informs if the subnet belongs to an external network | 2024-02-05T18:00:00-00:00
tag-creation | Tag creation extension | Allow to create multiple tags for a resource | 2024-23-07T10:00:00-00:00
tag-ports-during-bulk-creation | Tag Ports During Bulk Creation | Allow to tag ports during bulk creation | 2019-12-29T19:00:00-00:00
tap-mirror | Tap as a Service GRE or ERSPAN mirror | Neutron Tap as a Service extension for GRE or ERSPAN mirroring. | 2023-05-05T11:45:00-00:00
uplink-status-propagation-updatable | Uplink status propagation updatable extension | Provides ability to update the port uplink status. | 2024-09-03T18:00:00-00:00
`);

function parse(table: string): readonly Extension[] {
  return table
    .trim()
    .split("\n")
    .map((line) => {
      const [alias = "", name = "", description = "", updated = ""] = line.split(" | ");
      return { alias, name, description, updated };
    });
}
