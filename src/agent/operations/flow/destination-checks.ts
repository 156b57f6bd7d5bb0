import type { GroupOnHost } from "../../../conductor-client/methods/records.js";
import type { QuirkName } from "../../../config/quirks.js";
import { mostMembersOnHost } from "../../../records/index.js";
import { PublicError } from "../../../runtime/error-messages.js";
import { ComputeResourcesUnavailable } from "../../../virt/errors.js";
import { hasQuirk } from "../../context.js";
import type { OperationServices } from "./contract.js";

type OperationErrorCode =
  /** The driver does not support evacuations to its host (spec 6.7 row 4). */
  | "InstanceRecreateNotSupported"
  /** The request's claim about shared storage differs from the driver's view (spec 3.3). */
  | "InvalidSharedStorage"
  /** The destination of a cold migration is its source (spec 6.3). */
  | "UnableToMigrateToSelf"
  /** The server group's policy forbids this host (spec 6.9). */
  | "GroupAffinityViolation";

/** The rejection of an operation; the names are OpenStack's. */
export class OperationError extends PublicError {
  readonly code: OperationErrorCode;
  override readonly name: OperationErrorCode;

  constructor(code: OperationErrorCode, message: string) {
    super(message);
    this.code = code;
    this.name = code;
  }
}

/**
 * The operations that bring a member of a server group to this host; upstream has not always checked the policy in all
 * of them.
 */
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
 * Spec 6.9 rows 5 and 6: claims, then checks the server group's policy against the members on this host. Members of a
 * group are serialised, so that the first of two concurrent ones stays.
 * @throws any error of the claim; GroupAffinityViolation, in which case the claim remains
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

/**
 * Checks the policy where no claim is visible to others: spec 6.9 row 5 for a live migration. @throws
 * {GroupAffinityViolation}
 */
export async function requireGroupPolicy(services: OperationServices, instanceUuid: string): Promise<void> {
  const [node] = services.tracker.nodes().keys();
  if (node !== undefined && !isOff(services, "migration")) {
    await look(services, instanceUuid, node);
  }
}

function isOff(services: OperationServices, arrival: Arrival): boolean {
  const quirk = BREAKS_POLICY[arrival];
  return services.config.workarounds.disableGroupPolicyCheckUpcall || (quirk !== null && hasQuirk(services, quirk));
}

/** @throws {GroupAffinityViolation} */
async function look(services: OperationServices, instanceUuid: string, node: string): Promise<void> {
  const { conductor, host } = services;
  const group = await conductor.call("server_group_on_host", { instanceUuid, host, node });
  const broken = group === null ? null : brokenPolicy(group, host);
  if (group === null || broken === null) {
    return;
  }
  services.logger.warn("rejecting the server: the policy of its server group forbids this host", {
    instance: instanceUuid,
    server_group: group.uuid,
    policy: group.policy,
    members: group.here.length,
  });
  throw new OperationError("GroupAffinityViolation", `${broken} instance group policy was violated`);
}

/** Returns the name of the violated policy, capitalised; null: none. */
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
 * Checks that this host can serve an arriving instance.
 * @throws {ComputeResourcesUnavailable} it needs something that this host does not have
 */
export function assertServable({ unservable }: { readonly unservable?: string | undefined }): void {
  if (unservable !== undefined) {
    throw new ComputeResourcesUnavailable(`Insufficient compute resources: ${unservable}.`);
  }
}
