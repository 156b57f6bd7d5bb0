import type { Logger } from "../runtime/logger.js";
import { holdsNothing, readConsumer, requestField, rewriteOf, writeConsumer } from "./consumer-allocations.js";
import { AllocationDeleteFailed } from "./errors.js";
import type { PlacementAnswer, PlacementHttp } from "./placement-http.js";
import type { ProviderAllocationMemory } from "./provider-allocations.js";
import type { RequestContext } from "./types.js";

/** Takes everything away from a consumer (spec 5.5). */
export class AllocationDeleter {
  readonly #http: PlacementHttp;
  readonly #memory: ProviderAllocationMemory;
  readonly #logger: Logger;

  constructor(http: PlacementHttp, memory: ProviderAllocationMemory, logger: Logger) {
    this.#http = http;
    this.#memory = memory;
    this.#logger = logger;
  }

  /** False: it held nothing. @throws AllocationDeleteFailed */
  async delete(consumer: string, force: boolean, context: RequestContext): Promise<boolean> {
    const deleted = force ? await this.#force(consumer, context) : await this.#guarded(consumer, context);
    this.#memory.forgetConsumer(consumer);
    if (deleted) {
      this.#logger.info("deleted the allocations of a consumer", { consumer, ...requestField(context) });
    }
    return deleted;
  }

  async #force(consumer: string, context: RequestContext): Promise<boolean> {
    const answer = await this.#http.delete(`/allocations/${consumer}`, context);
    if (answer.status === 404) {
      return false;
    }
    return expectDeleted(consumer, answer);
  }

  /** Refused when somebody wrote the consumer since it was read. */
  async #guarded(consumer: string, context: RequestContext): Promise<boolean> {
    const held = await readConsumer(this.#http, consumer, context);
    if (holdsNothing(held)) {
      return false;
    }
    return expectDeleted(consumer, await writeConsumer(this.#http, consumer, rewriteOf(held, {}), context));
  }
}

function expectDeleted(consumer: string, answer: PlacementAnswer): true {
  if (answer.ok) {
    return true;
  }
  throw new AllocationDeleteFailed(
    consumer,
    `they were not deleted; try again, or use "openstack resource provider allocation delete ${consumer}"`,
    answer,
  );
}
