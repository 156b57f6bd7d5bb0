import type { GroupOnHost } from "../../../conductor-client/methods/records.js";
import type { QuirkName } from "../../../config/quirks.js";
import { mostMembersOnHost } from "../../../records/index.js";
import { PublicError } from "../../../runtime/error-messages.js";
import { ComputeResourcesUnavailable } from "../../../virt/errors.js";
import { hasQuirk } from "../../context.js";
import type { OperationServices } from "./contract.js";

/** Base of what an operation refuses; names are OpenStack's. */
export class OperationError extends PublicError {
  override readonly name: string = "OperationError";
}

/** The driver cannot be the destination of an evacuation (spec 6.7 row 4). */
export class InstanceRecreateNotSupported extends OperationError {
  override readonly name = "InstanceRecreateNotSupported";
}

/** What the request says of shared storage is not what the driver sees (spec 3.3). */
export class InvalidSharedStorage extends OperationError {
  override readonly name = "InvalidSharedStorage";
}

/** A cold migration whose destination is its source (spec 6.3). */
export class UnableToMigrateToSelf extends OperationError {
  override readonly name = "UnableToMigrateToSelf";
}

/** The host has members of the instance's server group that it may not share with it, or others have none (spec 6.9). */
export class GroupAffinityViolation extends OperationError {
  override readonly name = "GroupAffinityViolation";
}

/** What brings a member of a server group to this host; upstream has not always looked at the policy in all of them. */
type Arrival = "build" | "evacuation" | "migration" | "unshelve";

const BREAKS_POLICY: Readonly<Record<Arrival, QuirkName | null>> = {
  build: null,
  evacuation: "evacuation-breaks-group-policy",
  migration: "migration-breaks-group-policy",
  unshelve: "unshelve-breaks-group-policy",
};

interface Arriving {
  readonly instanceUuid: string;
  readonly node: string;
  readonly serverGroup?: string | undefined;
}

/**
 * Spec 6.9 rows 5 and 6: claims, and holds the policy of the server group to what is on this host then. One member of a group at a
 * time, so that of two that come at once the first stays.
 * @throws what the claim throws; {@link GroupAffinityViolation} although the claim stands
 */
export async function claimInGroup(
  services: OperationServices,
  arrival: Arrival,
  { instanceUuid, node, serverGroup }: Arriving,
  claim: () => Promise<void>,
): Promise<void> {
  if (serverGroup === undefined || isOff(services, arrival)) {
    return claim();
  }
  await services.groups.run(serverGroup, async () => {
    await claim();
    await look(services, instanceUuid, node);
  });
}

/** Where nothing is claimed here that others could see: spec 6.9 row 5 for a live migration. @throws {GroupAffinityViolation} */
export async function requireGroupPolicy(services: OperationServices, instanceUuid: string): Promise<void> {
  const [node] = services.tracker.nodes().keys();
  if (node !== undefined && !isOff(services, "migration")) {
    await look(services, instanceUuid, node);
  }
}

function isOff({ context }: OperationServices, arrival: Arrival): boolean {
  const quirk = BREAKS_POLICY[arrival];
  return context.config.workarounds.disableGroupPolicyCheckUpcall || (quirk !== null && hasQuirk(context, quirk));
}

/** @throws {GroupAffinityViolation} */
async function look({ context }: OperationServices, instanceUuid: string, node: string): Promise<void> {
  const { conductor, host } = context;
  const group = await conductor.call("server_group_on_host", { instanceUuid, host, node });
  const broken = group === null ? null : brokenPolicy(group, host);
  if (group === null || broken === null) {
    return;
  }
  context.runtime.logger.warn("the server may not come to this host: the policy of its server group forbids it", {
    instance: instanceUuid,
    server_group: group.uuid,
    policy: group.policy,
    members: group.here.length,
  });
  throw new GroupAffinityViolation(`${broken} instance group policy was violated`);
}

/** Its name at the start of a sentence; null: it holds. */
function brokenPolicy(group: GroupOnHost, host: string): string | null {
  switch (group.policy) {
    case "anti-affinity":
      return group.here.length >= mostMembersOnHost(group) ? "Anti-affinity" : null;
    case "affinity":
      return group.hosts.length > 0 && !group.hosts.includes(host) ? "Affinity" : null;
    default:
      return null;
  }
}

/**
 * For an instance that would come to this host.
 * @throws {ComputeResourcesUnavailable} it needs what this host does not have
 */
export function assertServable({ unservable }: { readonly unservable?: string | undefined }): void {
  if (unservable !== undefined) {
    throw new ComputeResourcesUnavailable(`Insufficient compute resources: ${unservable}.`);
  }
}
