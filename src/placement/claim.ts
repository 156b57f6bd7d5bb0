import type { Logger } from "../runtime/logger.js";
import { holdsNothing, readConsumer, writeConsumer } from "./consumer-allocations.js";
import { AllocationUpdateFailed } from "./errors.js";
import type { PlacementAnswer, PlacementHttp } from "./placement-http.js";
import type { Claim } from "./report-client.js";
import { AGAIN, type ConflictRetries } from "./retries.js";
import type { Allocations, AllocationWrite, ConsumerAllocations, RequestContext } from "./types.js";

/** Claims resources for consumers: the scheduler's part of a build or a move (spec 5.5). */
export class Claimer {
  readonly #http: PlacementHttp;
  readonly #retries: ConflictRetries;
  readonly #logger: Logger;

  constructor(http: PlacementHttp, retries: ConflictRetries, logger: Logger) {
    this.#http = http;
    this.#retries = retries;
    this.#logger = logger;
  }

  async claim(claim: Claim, context: RequestContext): Promise<boolean> {
    const { consumer, projectId, userId, version } = claim;
    const done = await this.#retries.run(async () => {
      const current = await readConsumer(this.#http, consumer, context);
      const write = {
        allocations: wanted(claim, current),
        projectId,
        userId,
        consumerGeneration: current.consumerGeneration,
      };
      return this.#judge(consumer, await writeConsumer(this.#http, consumer, write, context, version));
    }, context.signal);
    return done ?? false;
  }

  async put(consumer: string, write: AllocationWrite, context: RequestContext): Promise<boolean> {
    const done = await this.#retries.run(
      async () => this.#judge(consumer, await writeConsumer(this.#http, consumer, write, context)),
      context.signal,
    );
    return done ?? false;
  }

  /** @throws AllocationUpdateFailed on a consumer generation conflict: trying again would overwrite somebody's claim */
  #judge(consumer: string, answer: PlacementAnswer): boolean | typeof AGAIN {
    if (answer.ok) {
      return true;
    }
    if (answer.isConsumerConflict) {
      const reason =
        "another process changed the consumer after its allocations were read; ask for the operation again";
      throw new AllocationUpdateFailed(consumer, reason, answer);
    }
    if (answer.isConcurrentUpdate) {
      return AGAIN;
    }
    this.#logger.warn("allocations were refused", { consumer, answer: answer.describe() });
    return false;
  }
}

/**
 * Providers that the consumer holds already stay as they are: shared ones are not claimed twice. They come first, as those
 * of an evacuation's source do in what Nova writes.
 */
function wanted({ request, held }: Claim, current: ConsumerAllocations): Allocations {
  const requested = onlyResources(request.allocations);
  if (held === "replace" || holdsNothing(current)) {
    return requested;
  }
  const kept = onlyResources(current.allocations);
  return { ...kept, ...requested, ...kept };
}

function onlyResources(allocations: Allocations): Allocations {
  return Object.fromEntries(Object.entries(allocations).map(([provider, { resources }]) => [provider, { resources }]));
}
