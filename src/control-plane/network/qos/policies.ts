import { EVERY, where } from "../../resources/condition.js";
import type { Behaviour, Computed, NetworkContext } from "../engine/network-context.js";
import { badResource, networkError } from "../engine/network-errors.js";
import type { NetworkInput, NetworkRecord } from "../engine/network-resource.js";
import { storedAttributes } from "../engine/records.js";
import { seesAll } from "../engine/sharing.js";
import { FLOATINGIPS } from "../resources/floating-ips.js";
import { NETWORKS } from "../resources/networks.js";
import { PORTS } from "../resources/ports.js";
import { QOS_POLICIES } from "../resources/qos-policies.js";
import { ROUTERS } from "../resources/routers.js";
import { findRulesOf } from "./rules-of-policies.js";

type Policy = NetworkRecord<typeof QOS_POLICIES>;
type Input = NetworkInput<typeof QOS_POLICIES>;

/** Columns of the records that refer to a policy, with their names in `QosPolicyInUse`. */
const USERS = [
  { name: "port", table: PORTS.table, column: "qos_policy_id" },
  { name: "network", table: NETWORKS.table, column: "qos_policy_id" },
  { name: "fip", table: FLOATINGIPS.table, column: "qos_policy_id" },
  { name: "router", table: ROUTERS.table, column: "gateway_qos_policy_id" },
];

export const QOS_POLICY_BEHAVIOUR: Behaviour<typeof QOS_POLICIES.attributes> = {
  prepareCreate,
  prepareUpdate,
  beforeDelete: assertUnused,
  compute: computePolicies,
  /** Neutron accepts the filter, and lists all policies. */
  filters: { is_default: () => EVERY },
};

function prepareCreate(context: NetworkContext, { project_id: project, is_default: isDefault }: Input) {
  if (!project) {
    throw badResource("QoS policy", 'Must have "policy_id".');
  }
  if (isDefault) {
    assertNoDefault(context, project);
  }
  return {};
}

function prepareUpdate(context: NetworkContext, policy: Policy, changes: Input) {
  if (changes.is_default && !policy.is_default) {
    assertNoDefault(context, policy.project_id);
  }
  return storedAttributes(QOS_POLICIES, changes);
}

/** @throws {HttpError} 409 if the project has a default policy */
function assertNoDefault(context: NetworkContext, projectId: string): void {
  if (context.table(QOS_POLICIES).has(where`project_id = ${projectId} AND is_default = 1`)) {
    const message = `A default QoS policy exists for project ${projectId}.`;
    throw networkError(409, "QoSPolicyDefaultAlreadyExists", message);
  }
}

/** @throws {HttpError} 409 for a policy that a port, network, floating IP or router has */
function assertUnused({ sql }: NetworkContext, { id }: Policy): void {
  for (const { name, table, column } of USERS) {
    const [user] = sql.strings(`SELECT id FROM ${table} WHERE ${column} = ? ORDER BY id LIMIT 1`, id);
    if (user !== undefined) {
      throw networkError(409, "QosPolicyInUse", `QoS Policy ${id} is used by ${name} ${user}.`);
    }
  }
}

function computePolicies(context: NetworkContext, policies: readonly Policy[]): readonly Computed[] {
  const rules = findRulesOf(
    context,
    policies.map(({ id }) => id),
  );
  return policies.map((policy) => ({
    // Neutron looks for the default policy among those of the caller's project.
    is_default: policy.is_default && (seesAll(context) || policy.project_id === context.caller.projectId),
    rules: (rules.get(policy.id) ?? []).map(({ id, type, parameters }) => ({
      ...parameters,
      id,
      qos_policy_id: policy.id,
      type,
    })),
  }));
}
