import { ResourceProviderUpdateFailed } from "../../placement-client/errors.js";
import { listProviders, putAggregates, readAggregates } from "../../placement-client/provider-requests.js";
import { AGAIN, retryConflicts } from "../../placement-client/retries.js";
import { mapConcurrently } from "../../runtime/queue.js";
import type { ManageParts } from "./manage-parts.js";

/** Providers that are changed at a time. */
const AT_A_TIME = 8;

interface Moves {
  readonly join: Set<string>;
  readonly leave: Set<string>;
}

/**
 * Makes Placement's aggregates those of the host aggregates, for these hosts (spec 5.9): one list for each aggregate, and two requests
 * for each provider that is not where it belongs. Passes over hosts that have no provider of their name: they have never been up, or
 * manage nodes.
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
        throw new ResourceProviderUpdateFailed(`the aggregates of provider ${host} could not be written`, response);
      }
      return true;
    });
    if (!done) {
      throw new Error(`the aggregates of provider ${host} kept changing; \`manage placement sync_aggregates\` will`);
    }
  });
  return left.map(({ host }) => host);
}
