import type { Logger } from "../runtime/logger.js";
import {
  CONSUMER_GENERATION_VERSION,
  consumerToWire,
  holdsNothing,
  readConsumer,
  requestField,
  rewriteOf,
} from "./consumer-allocations.js";
import type { AllocationDeleter } from "./delete-allocation.js";
import { AllocationMoveFailed } from "./errors.js";
import type { PlacementHttp } from "./placement-http.js";
import { AGAIN, type ConflictRetries } from "./retries.js";
import type { RequestContext } from "./types.js";

interface Handover {
  readonly source: string;
  readonly target: string;
  /** Providers whose part stays the source's. */
  readonly keep: ReadonlySet<string>;
}

/** Hands what one consumer holds to another in one write (spec 5.6). */
export class AllocationMover {
  readonly #http: PlacementHttp;
  readonly #retries: ConflictRetries;
  readonly #deleter: AllocationDeleter;
  readonly #logger: Logger;

  constructor(http: PlacementHttp, retries: ConflictRetries, deleter: AllocationDeleter, logger: Logger) {
    this.#http = http;
    this.#retries = retries;
    this.#deleter = deleter;
    this.#logger = logger;
  }

  async move(
    { source, target, keep }: Handover,
    targetDeleted: (() => Promise<boolean>) | undefined,
    context: RequestContext,
  ): Promise<boolean> {
    const moved = await this.#retries.run(() => this.#attempt({ source, target, keep }, context), context.signal);
    if (moved && targetDeleted && (await targetDeleted())) {
      this.#logger.warn("the instance was deleted while allocations were moved to it: they are deleted again", {
        consumer: target,
      });
      await this.#deleter.delete(target, true, context);
    }
    return moved ?? false;
  }

  async #attempt({ source, target, keep }: Handover, context: RequestContext): Promise<boolean | typeof AGAIN> {
    const from = await readConsumer(this.#http, source, context);
    const to = await readConsumer(this.#http, target, context);
    const kept = Object.fromEntries(Object.entries(from.allocations).filter(([provider]) => keep.has(provider)));
    const moved = Object.fromEntries(Object.entries(from.allocations).filter(([provider]) => !keep.has(provider)));
    if (Object.keys(moved).length === 0) {
      // Moved already, by an earlier attempt whose answer was lost; or there was nothing to move.
      return !holdsNothing(to);
    }
    const answer = await this.#http.post("/allocations", {
      ...context,
      version: CONSUMER_GENERATION_VERSION,
      body: {
        [source]: consumerToWire(rewriteOf(from, kept)),
        [target]: consumerToWire({ ...rewriteOf(from, moved), consumerGeneration: to.consumerGeneration }),
      },
    });
    if (answer.ok) {
      this.#logger.info("moved allocations from one consumer to another", { source, target, ...requestField(context) });
      return true;
    }
    if (answer.isConsumerConflict) {
      throw new AllocationMoveFailed(source, target, "another process changed one of them meanwhile", answer);
    }
    if (answer.isConcurrentUpdate) {
      return AGAIN;
    }
    this.#logger.warn("allocations could not be moved", { source, target, answer: answer.describe() });
    return false;
  }
}
