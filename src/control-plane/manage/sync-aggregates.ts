import { isPlacementError, PlacementError } from "../../placement-client/errors.js";
import { listProviders, putAggregates, readAggregates } from "../../placement-client/provider-requests.js";
import { AGAIN, retryConflicts } from "../../placement-client/retries.js";
import { mapConcurrently } from "../../runtime/task-queue.js";
import { ManageFailure, type ManageParts, NO_PLACEMENT } from "./nova-manage.js";

export interface SyncOptions {
  readonly verbose: boolean;
}

const SYNC_CODES = {
  synced: 0,
  severalNodes: 1,
  notRead: 2,
  notWritten: 3,
  unmappedHosts: 4,
  noNodes: 5,
  noProviders: 6,
} as const;

/** The hosts with missing records, printed after all hosts are processed. */
interface Missing {
  readonly mappings: Set<string>;
  readonly nodes: Set<string>;
  /** Provider uuids by host. */
  readonly providers: Map<string, string>;
}

/**
 * `nova-manage placement sync_aggregates` (spec 7.5): adds memberships, never removes any.
 * @returns the exit code
 * @throws {ManageFailure}
 */
export async function syncAggregates(parts: ManageParts, { verbose }: SyncOptions): Promise<number> {
  const say = verbose ? parts.print : () => undefined;
  const missing: Missing = { mappings: new Set(), nodes: new Set(), providers: new Map() };
  const known = new Map<string, string>();
  say("Filling in missing placement aggregates");
  for (const aggregate of await parts.conductor.call("host_aggregates", {})) {
    say(`Processing aggregate: ${aggregate.name}`);
    for (const host of aggregate.hosts) {
      say(`Processing host: ${host}`);
      const provider = known.get(host) ?? (await providerOf(parts, host, missing));
      if (provider === undefined) {
        continue;
      }
      known.set(host, provider);
      if (await addToAggregate(parts, { host, provider, aggregate: aggregate.uuid })) {
        say(`Successfully added host (${host}) and provider (${provider}) to aggregate (${aggregate.uuid}).`);
      } else {
        missing.providers.set(host, provider);
      }
    }
  }
  return reportMissing(parts, missing);
}

/**
 * Returns the host's provider. Returns undefined, and records the reason, if it has none.
 * @throws {ManageFailure} if it has several
 */
async function providerOf({ conductor }: ManageParts, host: string, missing: Missing): Promise<string | undefined> {
  if (!(await conductor.call("host_mapping", { host }))) {
    missing.mappings.add(host);
    return undefined;
  }
  const nodes = await conductor.call("compute_nodes_by_host", { host });
  if (nodes.length > 1) {
    throw new ManageFailure(
      SYNC_CODES.severalNodes,
      `Unexpected number of compute node records (${nodes.length}) found for host ${host}. There should only be a one-to-one mapping.`,
    );
  }
  if (nodes.length === 0) {
    missing.nodes.add(host);
  }
  return nodes[0]?.uuid;
}

interface Membership {
  readonly host: string;
  readonly provider: string;
  readonly aggregate: string;
}

/**
 * Returns false if the provider does not exist.
 * @throws {ManageFailure}
 */
async function addToAggregate(parts: ManageParts, membership: Membership): Promise<boolean> {
  const { provider } = membership;
  try {
    const rejection = await write(parts, membership);
    if (rejection !== undefined) {
      throw notWritten(membership, rejection);
    }
    return true;
  } catch (error) {
    if (isPlacementError(error, "PlacementAPIConnectFailure")) {
      throw notWritten(membership, NO_PLACEMENT);
    }
    if (!isPlacementError(error, "ResourceProviderAggregateRetrievalFailed")) {
      throw error;
    }
    if (error.status === 404) {
      return false;
    }
    throw new ManageFailure(SYNC_CODES.notRead, `Failed to get aggregates for resource provider with UUID ${provider}`);
  }
}

/** Adds the provider to the aggregate. Returns undefined on success, otherwise the reason of the failure. */
async function write(
  { placement, timers, random, context }: ManageParts,
  { provider, aggregate }: Membership,
): Promise<string | undefined> {
  const url = `/resource_providers/${provider}/aggregates`;
  let rejection = "";
  const done = await retryConflicts({ timers, random }, async () => {
    const { value, generation } = await readAggregates(placement, provider, context);
    if (value.includes(aggregate)) {
      return true;
    }
    const body = { aggregates: [...value, aggregate], resource_provider_generation: generation };
    const response = await placement.put(url, { ...context, version: "1.19", body });
    if (response.ok) {
      return true;
    }
    if (response.status !== 409) {
      rejection = `Failed to update resource provider via URL ${url}: ${response.detail}`;
      return false;
    }
    rejection = `A conflict was encountered attempting to update resource provider ${provider} (generation ${generation}): ${response.detail}`;
    return AGAIN;
  });
  return done === true ? undefined : rejection;
}

function notWritten({ host, provider, aggregate }: Membership, error: string): ManageFailure {
  return new ManageFailure(
    SYNC_CODES.notWritten,
    `Failed updating provider aggregates for host (${host}), provider (${provider}) and aggregate (${aggregate}). Error: ${error}`,
  );
}

/** @returns the exit code of the last problem that was found */
function reportMissing({ print }: ManageParts, { mappings, nodes, providers }: Missing): number {
  let code: number = SYNC_CODES.synced;
  if (mappings.size > 0) {
    print(
      "The following hosts were found in nova host aggregates but no host mappings were found in the nova API DB. Run " +
        `"nova-manage cell_v2 discover_hosts" and then retry. Missing: ${[...mappings].join(",")}`,
    );
    code = SYNC_CODES.unmappedHosts;
  }
  if (nodes.size > 0) {
    print(
      "Unable to find matching compute_nodes record entries in the cell database for the following hosts; does the " +
        `nova-compute service on each host need to be restarted? Missing: ${[...nodes].join(",")}`,
    );
    code = SYNC_CODES.noNodes;
  }
  if (providers.size > 0) {
    const list = [...providers].sort().map(([host, uuid]) => `(${host}=${uuid})`);
    print(
      `Unable to find matching resource provider record in placement with uuid for the following hosts: ${list.join(",")}. ` +
        "Try restarting the nova-compute service on each host and then retry.",
    );
    code = SYNC_CODES.noProviders;
  }
  return code;
}

/** The number of providers that are changed concurrently. */
const AT_A_TIME = 8;

interface Moves {
  readonly join: Set<string>;
  readonly leave: Set<string>;
}

/**
 * Synchronizes Placement's aggregates with the host aggregates for these hosts (spec 5.9). Costs one request for each
 * aggregate, and two for each provider that differs.
 * Skips hosts without a provider of their name: they have never been up, or manage Ironic nodes.
 * @returns hosts whose providers were changed
 */
export async function mirrorAggregates(
  { conductor, placement, timers, random, context }: Omit<ManageParts, "quirks" | "print">,
  hosts: ReadonlySet<string>,
): Promise<readonly string[]> {
  const moves = new Map<string, Moves>();
  const movesOf = (host: string): Moves => {
    const found = moves.get(host) ?? { join: new Set(), leave: new Set() };
    moves.set(host, found);
    return found;
  };
  for (const { uuid, hosts: members } of await conductor.call("host_aggregates", {})) {
    const there = new Set((await listProviders(placement, `member_of=${uuid}`, context)).map(({ name }) => name));
    const belong = new Set(members);
    for (const host of members.filter((one) => hosts.has(one) && !there.has(one))) {
      movesOf(host).join.add(uuid);
    }
    for (const host of [...there].filter((one) => hosts.has(one) && !belong.has(one))) {
      movesOf(host).leave.add(uuid);
    }
  }
  const providers = moves.size === 0 ? [] : await listProviders(placement, "", context);
  const known = new Map(providers.map(({ name, uuid }) => [name, uuid]));
  const left = [...moves].flatMap(([host, theirs]) => {
    const provider = known.get(host);
    return provider === undefined ? [] : [{ host, provider, ...theirs }];
  });
  await mapConcurrently(left, AT_A_TIME, async ({ host, provider, join, leave }) => {
    const done = await retryConflicts({ timers, random }, async () => {
      const { value, generation } = await readAggregates(placement, provider, context);
      const aggregates = new Set([...value, ...join].filter((uuid) => !leave.has(uuid)));
      const response = await putAggregates(placement, provider, { aggregates, generation }, context);
      if (response.status === 409) {
        return AGAIN;
      }
      if (!response.ok) {
        throw new PlacementError(
          "ResourceProviderUpdateFailed",
          `the aggregates of provider ${host} could not be written`,
          response,
        );
      }
      return true;
    });
    if (!done) {
      throw new Error(
        `the aggregates of provider ${host} changed during each attempt to write them; run \`manage placement sync_aggregates\``,
      );
    }
  });
  return left.map(({ host }) => host);
}
