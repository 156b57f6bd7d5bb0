import type { ReportClient } from "../../placement/report-client.js";
import type { CandidatesGroup } from "../../placement/types.js";
import { mergedResources, type ResourceRequest, type Selection } from "../../records/index.js";
import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/logger.js";
import type { Random } from "../../runtime/random.js";
import type { Store } from "../store/store.js";
import { type AggregateRules, candidatesGroups, requestedResources } from "./candidates-query.js";
import { claimSelection } from "./claim.js";
import { NoValidHost } from "./errors.js";
import { filterHosts, type Refusal } from "./filters.js";
import { consume, type HostState, hostStates, selectionOf } from "./host-state.js";
import type { ScheduleRequest } from "./schedule-request.js";
import { weighHosts } from "./weighers.js";

/** From this level on agents put OWNER_NOVA on their providers (spec 4.7). */
const OWNER_TRAIT_SERVICE_VERSION = 73;

export interface SchedulerConfig {
  /** `[scheduler] max_attempts`: the claimed host and its alternates. Nova's default: 3. */
  readonly maxAttempts: number;
  /** `[scheduler] max_placement_results`. Nova's default: 1000. */
  readonly maxPlacementResults: number;
  readonly aggregates: AggregateRules;
  /** `service_down_time` in milliseconds. */
  readonly serviceDownTime: number;
}

/** A claimed destination, and where else to try. */
export interface Destination {
  readonly selection: Selection;
  /** Not claimed; at most `max_attempts` − 1. */
  readonly alternates: readonly Selection[];
}

/** Finds and claims destinations (spec 6.1 row 2, 6.7 row 2a). */
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

  return {
    /**
     * One destination for each instance, claimed in Placement. When one finds none, the claims of the others are released.
     * @throws {NoValidHost}, {AllocationUpdateFailed} somebody else wrote the allocations of the instance
     */
    selectDestinations: async (request: ScheduleRequest): Promise<readonly Destination[]> => {
      const wanted = requestedResources(store, request);
      const offer = await candidates(request, wanted);
      const claimed: string[] = [];
      try {
        const destinations: Destination[] = [];
        for (const instance of request.instanceUuids) {
          claimed.push(instance);
          const { sorted, chosen } = await claimFirst(instance, request, offer);
          consume(chosen, mergedResources(wanted));
          destinations.push({
            selection: selectionOf(chosen, offer.version),
            alternates: alternatesOf(sorted, chosen, offer.version),
          });
        }
        return destinations;
      } catch (error) {
        if (request.held === "replace") {
          await release(claimed, request);
        }
        throw error;
      }
    },
  };

  async function candidates(request: ScheduleRequest, wanted: ResourceRequest): Promise<Offer> {
    const groups = candidatesGroups(wanted, request.spec.projectId, store.aggregates.list(), config.aggregates);
    const inTree = requestedProvider(request);
    const answer = await placement.getAllocationCandidates(
      {
        groups,
        ...(wanted.groupPolicy === null ? {} : { groupPolicy: wanted.groupPolicy }),
        rootRequired: requiredTraits(),
        limit: config.maxPlacementResults,
        ...(inTree === undefined ? {} : { inTree }),
      },
      request,
    );
    if (answer === null) {
      throw new NoValidHost("Placement could not be asked.");
    }
    const { hosts, unknown } = hostStates(store, answer);
    if (hosts.length === 0) {
      const strangers = unknown > 0 ? `; ${unknown} resource providers fit, but no compute node belongs to them` : "";
      throw new NoValidHost(`No host has ${describeGroups(groups)} free and an enabled compute service${strangers}.`);
    }
    return { hosts, version: answer.version };
  }

  /** `COMPUTE_STATUS_DISABLED` mirrors disabled services (spec 2.5); OWNER_NOVA is asked for once every agent sets it. */
  function requiredTraits(): readonly string[] {
    const everyAgentSetsOwner = store.services.minimumVersion("nova-compute") >= OWNER_TRAIT_SERVICE_VERSION;
    return ["!COMPUTE_STATUS_DISABLED", ...(everyAgentSetsOwner ? ["OWNER_NOVA"] : [])];
  }

  function requestedProvider({ requestedHost, requestedNode }: ScheduleRequest): string | undefined {
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

  /** Claims on the best host that still has room. @throws {NoValidHost} */
  async function claimFirst(
    instance: string,
    request: ScheduleRequest,
    offer: Offer,
  ): Promise<{ readonly sorted: readonly HostState[]; readonly chosen: HostState }> {
    const context = { now: clock.now(), serviceDownTime: config.serviceDownTime };
    const { passed, refused } = filterHosts(offer.hosts, request, context);
    const sorted = weighHosts(passed, random);
    const { projectId, userId } = request.spec;
    const claim = { consumer: instance, projectId, userId, held: request.held };
    for (const chosen of sorted) {
      const won = await claimSelection(placement, selectionOf(chosen, offer.version), claim, request.requestId);
      if (won === null) {
        throw new NoValidHost("Placement could not be asked.");
      }
      if (won) {
        return { sorted, chosen };
      }
      logger.info("the host was full when it was claimed", {
        instance,
        host: chosen.node.host,
        request_id: request.requestId,
      });
    }
    throw new NoValidHost(explain(refused, sorted.length));
  }

  function alternatesOf(sorted: readonly HostState[], chosen: HostState, version: string): readonly Selection[] {
    return sorted
      .filter((host) => host !== chosen)
      .slice(0, config.maxAttempts - 1)
      .map((host) => selectionOf(host, version));
  }

  async function release(claimed: readonly string[], { requestId }: ScheduleRequest): Promise<void> {
    for (const instance of claimed) {
      await placement.deleteAllocation(instance, { force: true, requestId });
    }
  }
}

/** `VCPU=1, MEMORY_MB=512, HW_CPU_X86_AVX; 1: VGPU=1` */
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

/** `Of 5 hosts with room 2 are disabled, 3 were full when claimed.` */
function explain(refused: ReadonlyMap<Refusal, number>, full: number): string {
  const counts = [
    ...[...refused].map(([reason, count]) => `${count} ${count === 1 ? "is" : "are"} ${reason}`),
    ...(full > 0 ? [`${full} had no room left when claimed`] : []),
  ];
  const total = [...refused.values()].reduce((sum, count) => sum + count, full);
  return `Of ${total} host${total === 1 ? "" : "s"} with room ${counts.join(", ")}.`;
}
