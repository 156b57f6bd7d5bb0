import { ResourceProviderNotFound, ResourceProviderUpdateConflict, ResourceProviderUpdateFailed } from "./errors.js";
import type { PlacementHttp } from "./placement-http.js";
import { listProviders, readAggregates } from "./provider-requests.js";
import { AGAIN, type ConflictRetries } from "./retries.js";
import type { RequestContext } from "./types.js";

/** Mirrors the members of host aggregates on the providers of their hosts, found by name (spec 5.9). */
export class HostAggregates {
  readonly #http: PlacementHttp;
  readonly #retries: ConflictRetries;

  constructor(http: PlacementHttp, retries: ConflictRetries) {
    this.#http = http;
    this.#retries = retries;
  }

  add(aggregate: string, providerName: string, context: RequestContext): Promise<void> {
    return this.#edit(providerName, (known) => new Set([...known, aggregate]), context);
  }

  async remove(aggregate: string, providerName: string, context: RequestContext): Promise<void> {
    try {
      await this.#edit(providerName, (known) => new Set(known.filter((uuid) => uuid !== aggregate)), context);
    } catch (error) {
      if (!(error instanceof ResourceProviderNotFound)) {
        throw error;
      }
    }
  }

  async #edit(
    name: string,
    edit: (known: readonly string[]) => ReadonlySet<string>,
    context: RequestContext,
  ): Promise<void> {
    const uuid = await this.#uuidOf(name, context);
    const done = await this.#retries.run(async () => {
      const { value, generation } = await readAggregates(this.#http, uuid, context);
      const aggregates = edit(value);
      if (aggregates.size === value.length) {
        return true;
      }
      const answer = await this.#http.put(`/resource_providers/${uuid}/aggregates`, {
        ...context,
        version: "1.19",
        body: { aggregates: [...aggregates], resource_provider_generation: generation },
      });
      if (answer.status === 409) {
        return AGAIN;
      }
      if (!answer.ok) {
        throw new ResourceProviderUpdateFailed(`the aggregates of provider ${name} could not be written`, answer);
      }
      return true;
    }, context.signal);
    if (!done) {
      throw new ResourceProviderUpdateConflict(`the aggregates of provider ${name} kept changing; try again later`);
    }
  }

  async #uuidOf(name: string, context: RequestContext): Promise<string> {
    const [found] = await listProviders(this.#http, `name=${encodeURIComponent(name)}`, context);
    if (found) {
      return found.uuid;
    }
    throw new ResourceProviderNotFound(
      `there is no resource provider named ${name}; its compute service makes it when it starts`,
    );
  }
}
