import type { SchedulerFilter } from "../../config/sections/service-options.js";
import type { ReportClient } from "../../placement-client/report-client.js";
import type { CandidatesGroup } from "../../placement-client/types.js";
import type { ComputeNode, Selection } from "../../records/index.js";
import type { Random } from "../../runtime/cryptography.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { Store } from "../store/store.js";
import { NOT_ENOUGH_HOSTS, NoValidHost } from "./errors.js";
import { filterHosts, type RejectionReason } from "./filters.js";
import { GroupPlacements, type GroupState, groupRejection } from "./group-placements.js";
import { supportsImage } from "./host-requirements.js";
import { HostRecords, type HostState, hostStates, selectionOf } from "./host-state.js";
import {
  type AggregateRules,
  candidatesGroups,
  claimSelection,
  groupPolicyOf,
  portGroups,
  requestedImage,
  requestedResources,
  type ScheduleRequest,
  type SelectionClaim,
  sameSubtreesOf,
} from "./schedule-request.js";
import { type WeightMultipliers, weighHosts } from "./weighers.js";

/** From this service version, agents set OWNER_NOVA on their providers (spec 4.7). */
const OWNER_TRAIT_SERVICE_VERSION = 73;

export interface SchedulerConfig {
  /** `[scheduler] max_attempts`: the claimed host and its alternates. Nova's default: 3. */
  readonly maxAttempts: number;
  /** `[scheduler] max_placement_results`. Nova's default: 1000. */
  readonly maxPlacementResults: number;
  readonly aggregates: AggregateRules;
  /** `[filter_scheduler] enabled_filters` */
  readonly filters: ReadonlySet<SchedulerFilter>;
  readonly multipliers: WeightMultipliers;
  /** `service_down_time` in milliseconds. */
  readonly serviceDownTime: number;
}

/** A claimed destination with alternates. */
export interface Destination {
  readonly selection: Selection;
  /** Unclaimed; at most `max_attempts` − 1. */
  readonly alternates: readonly Selection[];
}

/** Selects and claims destinations (spec 6.1 row 2, 6.7 row 2a, 6.9 rows 1-3). */
export type Scheduler = ReturnType<typeof createScheduler>;

export function createScheduler(parts: {
  readonly store: Store;
  readonly placement: ReportClient;
  readonly config: SchedulerConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}) {
  const { store, placement, config, clock, random, logger } = parts;
  const records = new HostRecords(store);
  const groups = new GroupPlacements(store);

  return {
    /**
     * Selects a destination for the instance and claims it in Placement.
     * @throws {NoValidHost} {AllocationUpdateFailed} the latter if the instance's allocations were changed concurrently
     */
    selectDestination: (request: ScheduleRequest): Promise<Destination> =>
      groups.choose(
        request.instanceUuid,
        (group) => select(request, group),
        ({ selection }) => selection.host,
      ),
    /**
     * Claims the first alternate of an earlier selection that has room and that the server group permits; null if there
     * is none.
     */
    claimAlternate: (
      alternates: readonly Selection[],
      claim: SelectionClaim,
      requestId: string,
    ): Promise<Destination | null> =>
      groups.choose(
        claim.consumer,
        (group) => claimNext(alternates, group, claim, requestId),
        (destination) => destination?.selection.host,
      ),
    /**
     * Checks a rebuild's new image against the server's host, with the filters that Nova runs for it.
     * @throws {NoValidHost}
     */
    checkRebuild: (node: ComputeNode, image: Readonly<Record<string, string>>): void => {
      if (config.filters.has("ImagePropertiesFilter") && !supportsImage({ node }, image)) {
        throw new NoValidHost(NOT_ENOUGH_HOSTS, `Host ${node.host} does not meet the image's requirements.`);
      }
    },
    /** Drops an instance's selection when the caller has removed its claim. */
    forget: (instanceUuid: string): void => groups.forget(instanceUuid),
  };

  async function select(request: ScheduleRequest, group: GroupState | null): Promise<Destination> {
    const image = requestedImage(store, request);
    const { hosts, version } = await candidates(request, group, image);
    try {
      const { chosen, others } = await claimFirst(request, group, image, { hosts, version });
      return { selection: selectionOf(chosen, version), alternates: others.map((host) => selectionOf(host, version)) };
    } catch (error) {
      // Removes a claim whose response was lost. Instances of moves have earlier allocations as well; there the caller
      // removes the claim.
      if (request.held === "replace") {
        await placement.deleteAllocation(request.instanceUuid, { force: true, requestId: request.requestId });
      }
      throw error;
    }
  }

  async function claimNext(
    alternates: readonly Selection[],
    group: GroupState | null,
    claim: SelectionClaim,
    requestId: string,
  ): Promise<Destination | null> {
    for (const [index, selection] of alternates.entries()) {
      if (
        groupRejection(selection.host, group) === null &&
        (await claimSelection(placement, selection, claim, requestId))
      ) {
        return { selection, alternates: alternates.slice(index + 1) };
      }
    }
    return null;
  }

  async function candidates(
    request: ScheduleRequest,
    group: GroupState | null,
    image: Readonly<Record<string, string>>,
  ): Promise<Offer> {
    const resourceRequest = requestedResources(request, image);
    const { portRequests = [] } = request;
    const ofPorts = portGroups(portRequests);
    const sameSubtrees = sameSubtreesOf(portRequests);
    const groupPolicy = groupPolicyOf(resourceRequest, ofPorts);
    const groups = candidatesGroups(
      resourceRequest,
      request.spec.projectId,
      () => store.aggregates.list(),
      config.aggregates,
      ofPorts,
    );
    const inTree = requestedProvider(request, group);
    const allocationCandidates = await placement.getAllocationCandidates(
      {
        groups,
        ...(groupPolicy === null ? {} : { groupPolicy }),
        ...(sameSubtrees.length > 0 ? { sameSubtrees } : {}),
        rootRequired: requiredTraits(),
        limit: config.maxPlacementResults,
        ...(inTree === undefined ? {} : { inTree }),
      },
      request,
    );
    if (allocationCandidates === null) {
      throw new NoValidHost(NOT_ENOUGH_HOSTS, "Placement is unavailable.");
    }
    const { hosts, unknown } = hostStates(records, allocationCandidates);
    if (hosts.length === 0) {
      const unknownProvidersNote =
        unknown > 0 ? `; ${unknown} resource providers fit, but no compute node belongs to them` : "";
      throw new NoValidHost(
        NOT_ENOUGH_HOSTS,
        `No host has ${describeGroups(groups)} free and an enabled compute service${unknownProvidersNote}.`,
      );
    }
    return { hosts, version: allocationCandidates.version };
  }

  /**
   * Returns the traits for candidates. `COMPUTE_STATUS_DISABLED` mirrors disabled services (spec 2.5). OWNER_NOVA is
   * required once every agent sets it.
   */
  function requiredTraits(): readonly string[] {
    const everyAgentSetsOwner = store.services.minimumVersion("nova-compute") >= OWNER_TRAIT_SERVICE_VERSION;
    return ["!COMPUTE_STATUS_DISABLED", ...(everyAgentSetsOwner ? ["OWNER_NOVA"] : [])];
  }

  /** Returns the provider that must be among the candidates, which Placement limits in number. */
  function requestedProvider(request: ScheduleRequest, group: GroupState | null): string | undefined {
    const { requestedHost = onlyHost(group), requestedNode } = request;
    if (requestedHost === undefined && requestedNode === undefined) {
      return undefined;
    }
    const nodes = (
      requestedNode === undefined
        ? store.computeNodes.byHost(requestedHost ?? "")
        : store.computeNodes.byHypervisorHostname(requestedNode)
    ).filter(({ host }) => requestedHost === undefined || host === requestedHost);
    return nodes.length === 1 ? nodes[0]?.uuid : undefined;
  }

  /** Claims on the best host that still has room. The next best ones become alternates. @throws {NoValidHost} */
  async function claimFirst(
    request: ScheduleRequest,
    group: GroupState | null,
    image: Readonly<Record<string, string>>,
    { hosts, version }: Offer,
  ): Promise<{ readonly chosen: HostState; readonly others: readonly HostState[] }> {
    const { serviceDownTime, filters } = config;
    const context = { now: clock.now(), serviceDownTime, group, filters, hinted: hintedHosts(request), image };
    const { passed, rejected } = filterHosts(hosts, request, context);
    const { multipliers } = config;
    const sorted = weighHosts(passed, { group, multipliers, ofAggregates: records.multipliers() }, random);
    const { instanceUuid: instance, requestId } = request;
    const { projectId, userId } = request.spec;
    const claim = { consumer: instance, projectId, userId, held: request.held };
    const full: HostState[] = [];
    for (const [index, chosen] of sorted.entries()) {
      const won = await claimSelection(placement, selectionOf(chosen, version), claim, requestId);
      if (won === null) {
        throw new NoValidHost(NOT_ENOUGH_HOSTS, "Placement is unavailable.");
      }
      if (won) {
        return { chosen, others: [...full, ...sorted.slice(index + 1)].slice(0, config.maxAttempts - 1) };
      }
      full.push(chosen);
      logger.info("claim failed: host out of capacity; trying the next one", {
        instance,
        host: chosen.node.host,
        request_id: requestId,
      });
    }
    throw new NoValidHost(NOT_ENOUGH_HOSTS, explain(rejected, full.length));
  }

  /** Returns hosts by hint, without hints that name no server. */
  function hintedHosts({ spec }: ScheduleRequest): Readonly<Record<string, ReadonlySet<string>>> {
    const named = Object.entries(spec.schedulerHints).filter(([, uuids]) => uuids.length > 0);
    return Object.fromEntries(
      named.map(([hint, uuids]) => [hint, new Set(uuids.flatMap((uuid) => store.instances.get(uuid)?.host ?? []))]),
    );
  }
}

/** Returns the only host that affinity permits, if there is exactly one. */
function onlyHost(group: GroupState | null): string | undefined {
  const [host, other] = group?.policy === "affinity" ? group.hosts : [];
  return other === undefined ? host : undefined;
}

/** Renders groups such as `VCPU=1, MEMORY_MB=512, HW_CPU_X86_AVX; 1: VGPU=1`. */
function describeGroups(groups: readonly CandidatesGroup[]): string {
  return groups
    .map(({ suffix, resources, required = [] }) => {
      const amounts = Object.entries(resources).map(([name, amount]) => `${name}=${amount}`);
      return `${suffix === "" ? "" : `${suffix}: `}${[...amounts, ...required].join(", ")}`;
    })
    .join("; ");
}

interface Offer {
  readonly hosts: readonly HostState[];
  readonly version: string;
}

/** Renders rejection counts such as `Of 5 hosts with room 2 are disabled, 3 had no room left when claimed.` */
function explain(rejected: ReadonlyMap<RejectionReason, number>, full: number): string {
  const counts = [
    ...[...rejected].map(([reason, count]) => `${count} ${count === 1 ? "is" : "are"} ${reason}`),
    ...(full > 0 ? [`${full} had no room left when claimed`] : []),
  ];
  const total = [...rejected.values()].reduce((sum, count) => sum + count, full);
  return `Of ${total} host${total === 1 ? "" : "s"} with room ${counts.join(", ")}.`;
}
