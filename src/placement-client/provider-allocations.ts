import { SparseMap } from "../runtime/sparse.js";
import { ResourceProviderAllocationRetrievalFailed } from "./errors.js";
import { asNumber, asRecord, mapRecord } from "./json.js";
import type { PlacementPass } from "./pass.js";
import type { PlacementHttp } from "./placement-http.js";
import { generationIn } from "./provider-requests.js";
import type { ProviderAllocations, RequestContext, ResourceAmounts } from "./types.js";

/** `GET /resource_providers/U/allocations`. @throws ResourceProviderAllocationRetrievalFailed */
export async function readProviderAllocations(
  http: PlacementHttp,
  uuid: string,
  context: RequestContext,
): Promise<ProviderAllocations> {
  const response = await http.get(`/resource_providers/${uuid}/allocations`, context);
  if (!response.ok) {
    throw new ResourceProviderAllocationRetrievalFailed(uuid, "they could not be read", response);
  }
  return response.read((body) => {
    const consumers = mapRecord(body.allocations, (held) => mapRecord(asRecord(held).resources, asNumber));
    return { consumers: new Map(Object.entries(consumers)), generation: generationIn(body) };
  });
}

/**
 * Remembers the consumers and what they held when the provider's allocations were last read. Every new allocation
 * raises the provider's generation: while the generation stands still, the memory lacks no consumer; it may hold
 * consumers that have gone (spec 5.4).
 */
export class ProviderAllocationMemory {
  readonly #read = new SparseMap<string, { consumers: SparseMap<string, ResourceAmounts>; generation: number }>();

  /** What is known, if the pass shows that nothing was added since. */
  recall(uuid: string, pass: PlacementPass): ProviderAllocations | undefined {
    const known = this.#read.get(uuid);
    return known !== undefined && pass.generation(uuid) === known.generation
      ? { consumers: new Map(known.consumers), generation: known.generation }
      : undefined;
  }

  remember(uuid: string, { consumers, generation }: ProviderAllocations): void {
    const byConsumer = new SparseMap<string, ResourceAmounts>();
    for (const [consumer, held] of consumers) {
      byConsumer.set(consumer, held);
    }
    this.#read.set(uuid, { consumers: byConsumer, generation });
  }

  /** Our own write took the provider from one generation to the next: no other write came between. */
  advance(uuid: string, from: number | null, to: number): void {
    const known = this.#read.get(uuid);
    if (known?.generation === from) {
      known.generation = to;
    }
  }

  /** The consumer was seen to hold nothing anywhere any more. */
  forgetConsumer(consumer: string): void {
    for (const { consumers } of this.#read.values()) {
      consumers.delete(consumer);
    }
  }

  /** The consumer was seen to hold nothing on this provider any more. */
  forget(uuid: string, consumer: string): void {
    this.#read.get(uuid)?.consumers.delete(consumer);
  }

  forgetProvider(uuid: string): void {
    this.#read.delete(uuid);
  }

  clear(): void {
    this.#read.clear();
  }
}
