import type { Condition } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { findRecord } from "../engine/records.js";
import {
  allocateAddresses,
  changeAddresses,
  isAllocationDeferred,
  releaseAddresses,
} from "../ipam/allocate-addresses.js";
import { removeStaleForwardings } from "../l3/floating-ip-associations.js";
import { assertMayReplacePolicy } from "../qos/policy-access.js";
import { assertPortsSupportPolicy } from "../qos/rule-support.js";
import { PORTS, type PortInput, type PortRecord } from "../resources/ports.js";
import { QOS_POLICIES } from "../resources/qos-policies.js";
import { ROUTERS } from "../resources/routers.js";
import { ensureDefaultGroup } from "../security-groups/default-group.js";
import { completeOptions, mergeOptions } from "./dhcp-options.js";
import { hasOwnNames } from "./dns-names.js";
import { activeBindingOf, assertHost, type BindingChange, createActiveBinding } from "./host-bindings.js";
import { changeMac, chooseMac } from "./mac-addresses.js";
import { planPortUpdate } from "./policy-changes.js";
import { PORT_FILTERS } from "./port-filters.js";
import { PORT_GUARDS, PORT_RELEASES } from "./port-guards.js";
import { assertPairsAllowed, choosePortSecurity, completePairs, validateSecurity } from "./port-security.js";
import { detailsOf, viewPorts } from "./port-views.js";
import { rebind } from "./rebinding.js";
import { policyOfNetwork } from "./resource-requests.js";
import {
  assertUsableGroups,
  chooseGroups,
  insertGroups,
  isTrusted,
  replaceGroups,
} from "./security-groups-of-ports.js";
import { notifyNetworkChanged, notifyPortDeleted } from "./server-notifications.js";

export const PORT_BEHAVIOUR: Behaviour<typeof PORTS.attributes> = {
  prepareCreate,
  afterCreate,
  prepareUpdate,
  afterUpdate,
  external: { attribute: "qos_policy_id", plan: planPortUpdate },
  beforeDelete,
  compute: viewPorts,
  computeForShow: (context, { id }) => {
    const binding = activeBindingOf(context, id);
    return binding ? { "binding:vif_details": detailsOf(binding) } : {};
  },
  filters: PORT_FILTERS,
  visible,
};

/** Device owners of the interfaces of routers. */
const ROUTER_INTERFACES: readonly string[] = [
  "network:router_interface",
  "network:router_interface_distributed",
  "network:ha_router_replicated_interface",
];

function prepareCreate(context: NetworkContext, input: PortInput): Partial<PortRecord> {
  const { network_id: networkId = "", device_owner: owner = "", device_id: device = "" } = input;
  ensureGroupOf(context, input.project_id ?? "");
  assertOwnRouter(context, { owner, device, projectId: input.project_id ?? "" });
  const isSecure = choosePortSecurity(context, input);
  const pairs = input.allowed_address_pairs ?? [];
  const mac = chooseMac(context, networkId, input.mac_address);
  const isNamed = hasOwnNames(context);
  return {
    mac_address: mac,
    status: input.status ?? "DOWN",
    port_security_enabled: isSecure,
    allowed_address_pairs: completePairs(pairs, mac),
    extra_dhcp_opts: completeOptions(input.extra_dhcp_opts),
    dns_name: isNamed ? (input.dns_name ?? "") : "",
    dns_domain: isNamed ? (input.dns_domain ?? "") : "",
    ip_allocation: input.fixed_ips?.length === 0 ? "none" : "immediate",
    made_for_server: input.made_for_server ?? false,
    revision_number: 1,
  };
}

function afterCreate(context: NetworkContext, port: PortRecord, input: PortInput): void {
  const binding = createActiveBinding(context, port.id, bindingChange(input));
  const addressed = { ...port, "binding:host_id": binding.host };
  const requested = input.fixed_ips;
  const addresses = allocateAddresses(context, addressed, requested);
  if (addresses.length === 0 && isAllocationDeferred(context, addressed, requested)) {
    context.table(PORTS).update(port.id, { ip_allocation: "deferred" });
  }
  findPolicyOf(context, port);
  assertPairsAllowed(port.port_security_enabled === true, port.allowed_address_pairs ?? []);
  insertGroups(context, port.id, chooseGroups(context, port, input.security_groups));
  assertPolicyFits(context, port);
}

/** Any port of a project makes its default group, also one that does not have it. */
function ensureGroupOf(context: NetworkContext, projectId: string): void {
  if (projectId !== "") {
    ensureDefaultGroup(context, projectId);
  }
}

function prepareUpdate(context: NetworkContext, port: PortRecord, changes: PortInput): Partial<PortRecord> {
  const {
    fixed_ips: _ips,
    security_groups: _groups,
    "binding:host_id": _host,
    "binding:profile": _profile,
    "binding:vnic_type": _type,
    tags: _tags,
    mac_address: mac,
    dns_name: name,
    dns_domain: domain,
    ...columns
  } = changes;
  ensureGroupOf(context, port.project_id);
  // Neutron takes a device that the request leaves out for another one, and an empty one for the port's own.
  if (changes.device_owner !== undefined || changes.device_id !== port.device_id) {
    assertOwnRouter(context, {
      owner: changes.device_owner || port.device_owner,
      device: changes.device_id || port.device_id,
      projectId: port.project_id,
    });
  }
  const binding = activeBindingOf(context, port.id);
  if (
    changes.numa_affinity_policy !== undefined &&
    binding &&
    !["unbound", "binding_failed"].includes(binding.vif_type)
  ) {
    throw networkError(
      409,
      "PortBoundNUMAAffinityPolicy",
      `Unable to complete operation on port ${port.id}, port is already bound to host ${binding.host}, numa_affinity_policy value given ${changes.numa_affinity_policy ?? "None"}.`,
    );
  }
  const address =
    mac === undefined
      ? port.mac_address
      : changeMac(context, { ...port, device_owner: changes.device_owner || port.device_owner }, binding, mac);
  const isNamed = hasOwnNames(context);
  return {
    ...columns,
    mac_address: address,
    ...(name !== undefined && isNamed ? { dns_name: name } : {}),
    ...(domain !== undefined && isNamed ? { dns_domain: domain } : {}),
    ...(changes.allowed_address_pairs === undefined
      ? {}
      : { allowed_address_pairs: completePairs(changes.allowed_address_pairs, address) }),
    ...(changes.extra_dhcp_opts === undefined
      ? {}
      : { extra_dhcp_opts: mergeOptions(port.extra_dhcp_opts ?? [], changes.extra_dhcp_opts) }),
  };
}

function afterUpdate(context: NetworkContext, port: PortRecord, changes: PortInput, before: PortRecord): void {
  rebind(context, port, bindingChange(changes));
  if (changes.fixed_ips !== undefined || port.mac_address !== before.mac_address) {
    const host = activeBindingOf(context, port.id)?.host ?? "";
    // Neutron chooses the subnets for the device owner that the port had.
    const { device_owner: owner } = before;
    changeAddresses(context, { ...port, device_owner: owner, "binding:host_id": host }, changes.fixed_ips);
    removeStaleForwardings(context, port.id);
  }
  if (changes.qos_policy_id !== undefined) {
    assertMayReplacePolicy(context, before.qos_policy_id);
    findPolicyOf(context, port);
  }
  validateSecurity(context, before, changes);
  const groups = changes.security_groups;
  if (groups !== undefined) {
    assertUsableGroups(context, port.project_id, groups);
    replaceGroups(context, port.id, isTrusted(port) ? [] : groups);
  }
  if (changes.qos_policy_id !== undefined) {
    assertPolicyFits(context, port);
  }
  notifyNetworkChanged(context, port.id);
}

/** @throws {HttpError} 404 for an unknown QoS policy */
function findPolicyOf(context: NetworkContext, { qos_policy_id: id }: PortRecord): void {
  if (id !== null) {
    findRecord(context, QOS_POLICIES, id);
  }
}

/** @throws {HttpError} 409 for a QoS policy with a rule that the port does not support */
function assertPolicyFits(context: NetworkContext, port: PortRecord): void {
  const { id, network_id: networkId, qos_policy_id: own } = port;
  const policyId = own ?? policyOfNetwork(context, networkId);
  if (policyId !== null) {
    assertPortsSupportPolicy(context, policyId, [{ id, network_id: networkId }]);
  }
}

/** Returns what a request says about the binding. */
function bindingChange(input: PortInput): BindingChange {
  const { "binding:host_id": host, "binding:profile": profile, "binding:vnic_type": vnicType } = input;
  assertHost(host);
  return {
    ...(host === undefined ? {} : { host: host ?? "" }),
    ...(profile === undefined ? {} : { profile: profile ?? {} }),
    ...(vnicType === undefined ? {} : { vnicType }),
  };
}

function beforeDelete(context: NetworkContext, port: PortRecord): void {
  if (!context.caller.isInternal) {
    for (const check of PORT_GUARDS) {
      check(context, port);
    }
  }
  for (const release of PORT_RELEASES) {
    release(context, port);
  }
  releaseAddresses(context, port.id);
  notifyPortDeleted(context, port);
}

/** Own ports, and those on own networks. */
function visible({ caller }: NetworkContext): Condition {
  return {
    sql: `(network_ports.project_id = ?
      OR network_ports.network_id IN (SELECT network_networks.id FROM network_networks WHERE project_id = ?))`,
    values: [caller.projectId, caller.projectId],
  };
}

/** Rejects the interface of another project's router. @throws {HttpError} 409 */
function assertOwnRouter(
  context: NetworkContext,
  { owner, device, projectId }: { readonly owner: string; readonly device: string; readonly projectId: string },
): void {
  if (context.caller.isAdmin || !ROUTER_INTERFACES.includes(owner) || device === "") {
    return;
  }
  const router = context.table(ROUTERS).get(device);
  if (router !== undefined && router.project_id !== projectId) {
    throw networkError(
      409,
      "DeviceIDNotOwnedByTenant",
      `The following device_id ${device} is not owned by your tenant or matches another tenants router.`,
    );
  }
}
