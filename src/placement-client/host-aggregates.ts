import type { ClientContext } from "./client-context.js";
import { ResourceProviderNotFound, ResourceProviderUpdateConflict, ResourceProviderUpdateFailed } from "./errors.js";
import { listProviders, putAggregates, readAggregates } from "./provider-requests.js";
import { AGAIN, retryConflicts } from "./retries.js";
import type { RequestContext } from "./types.js";

/** Mirrors the members of host aggregates on the providers of their hosts, found by name (spec 5.9). */
export function addToAggregate(
  client: ClientContext,
  aggregate: string,
  providerName: string,
  context: RequestContext,
): Promise<void> {
  return edit(client, providerName, (known) => new Set([...known, aggregate]), context);
}

export async function removeFromAggregate(
  client: ClientContext,
  aggregate: string,
  providerName: string,
  context: RequestContext,
): Promise<void> {
  try {
    await edit(client, providerName, (known) => new Set(known.filter((uuid) => uuid !== aggregate)), context);
  } catch (error) {
    if (!(error instanceof ResourceProviderNotFound)) {
      throw error;
    }
  }
}

async function edit(
  client: ClientContext,
  name: string,
  edit: (known: readonly string[]) => ReadonlySet<string>,
  context: RequestContext,
): Promise<void> {
  const uuid = await uuidOf(client, name, context);
  const done = await retryConflicts(
    client,
    async () => {
      const { value, generation } = await readAggregates(client.http, uuid, context);
      const aggregates = edit(value);
      if (aggregates.size === value.length) {
        return true;
      }
      const response = await putAggregates(client.http, uuid, { aggregates, generation }, context);
      if (response.status === 409) {
        return AGAIN;
      }
      if (!response.ok) {
        throw new ResourceProviderUpdateFailed(`the aggregates of provider ${name} could not be written`, response);
      }
      return true;
    },
    context.signal,
  );
  if (!done) {
    throw new ResourceProviderUpdateConflict(`the aggregates of provider ${name} kept changing; try again later`);
  }
}

async function uuidOf(client: ClientContext, name: string, context: RequestContext): Promise<string> {
  const [found] = await listProviders(client.http, `name=${encodeURIComponent(name)}`, context);
  if (found) {
    return found.uuid;
  }
  throw new ResourceProviderNotFound(
    `there is no resource provider named ${name}; its compute service makes it when it starts`,
  );
}
