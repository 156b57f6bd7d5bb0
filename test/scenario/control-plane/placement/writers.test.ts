import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { consumer, uuid, World } from "../../../unit/control-plane/placement/world.js";

const PROVIDERS = [1, 2];
const CONSUMERS = [1, 2, 3];
const TOTAL = 8;

interface Provider {
  generation: number;
  total: number;
}

interface Consumer {
  generation: number;
  readonly held: ReadonlyMap<number, number>;
}

/** The expected state of Placement. */
class Model {
  readonly providers = new Map(PROVIDERS.map((n): [number, Provider] => [n, { generation: 1, total: TOTAL }]));
  readonly consumers = new Map<number, Consumer>();

  used(provider: number, except?: number): number {
    let sum = 0;
    for (const [n, { held }] of this.consumers) {
      if (n !== except) {
        sum += held.get(provider) ?? 0;
      }
    }
    return sum;
  }

  /** Returns the status of a PUT of allocations, which changes the model if it is 204. */
  allocate(n: number, generation: number | null, requestedAmounts: ReadonlyMap<number, number>): number {
    const known = this.consumers.get(n);
    if ((known?.generation ?? null) !== generation) {
      return 409;
    }
    for (const [provider, amount] of requestedAmounts) {
      const { total = 0 } = this.providers.get(provider) ?? {};
      const before = this.used(provider);
      const after = this.used(provider, n) + amount;
      if (after > total && (before === 0 || after > before)) {
        return 409;
      }
    }
    for (const provider of requestedAmounts.size > 0 ? requestedAmounts.keys() : (known?.held.keys() ?? [])) {
      this.#raise(provider);
    }
    if (requestedAmounts.size === 0) {
      this.consumers.delete(n);
    } else {
      this.consumers.set(n, { generation: (known?.generation ?? 0) + 1, held: requestedAmounts });
    }
    return 204;
  }

  resize(n: number, generation: number, total: number): number {
    const found = this.providers.get(n);
    if (found?.generation !== generation) {
      return 409;
    }
    found.total = total;
    this.#raise(n);
    return 200;
  }

  #raise(provider: number): void {
    const found = this.providers.get(provider);
    if (found !== undefined) {
      found.generation += 1;
    }
  }
}

/** A step of a writer. It reads first and later writes based on that, so that others may write in between. */
type Turn =
  | { readonly kind: "read"; readonly writer: number }
  | { readonly kind: "allocate"; readonly writer: number; readonly consumer: number; readonly amounts: number[] }
  | { readonly kind: "resize"; readonly writer: number; readonly provider: number; readonly total: number };

const writer = fc.nat(3);
const turn: fc.Arbitrary<Turn> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("read" as const), writer }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("allocate" as const),
      writer,
      consumer: fc.constantFrom(...CONSUMERS),
      amounts: fc.array(fc.integer({ min: 0, max: 5 }), { minLength: PROVIDERS.length, maxLength: PROVIDERS.length }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("resize" as const),
      writer,
      provider: fc.constantFrom(...PROVIDERS),
      total: fc.integer({ min: 2, max: 12 }),
    }),
  },
);

interface ObservedGenerations {
  readonly consumers: ReadonlyMap<number, number | null>;
  readonly providers: ReadonlyMap<number, number>;
}

function look(world: World): ObservedGenerations {
  const consumers = CONSUMERS.map((n): [number, number | null] => {
    const { consumer_generation } = world.json<{ consumer_generation?: number }>("GET", `/allocations/${consumer(n)}`);
    return [n, consumer_generation ?? null];
  });
  const providers = PROVIDERS.map((n): [number, number] => [
    n,
    world.json<{ generation: number }>("GET", `/resource_providers/${uuid(n)}`).generation,
  ]);
  return { consumers: new Map(consumers), providers: new Map(providers) };
}

function act(
  world: World,
  model: Model,
  observed: ObservedGenerations,
  each: Exclude<Turn, { kind: "read" }>,
): readonly [number, number] {
  if (each.kind === "resize") {
    const generation = observed.providers.get(each.provider) ?? 0;
    const response = world.send("PUT", `/resource_providers/${uuid(each.provider)}/inventories`, {
      resource_provider_generation: generation,
      inventories: { VCPU: { total: each.total } },
    });
    return [response.status, model.resize(each.provider, generation, each.total)];
  }
  const generation = observed.consumers.get(each.consumer) ?? null;
  const requestedAmounts = PROVIDERS.map((n, index): [number, number] => [n, each.amounts[index] ?? 0]);
  const held = new Map(requestedAmounts.filter(([, amount]) => amount > 0));
  const body = Object.fromEntries([...held].map(([n, amount]) => [n, { VCPU: amount }]));
  // Skipped, since removing allocations of an unknown consumer leaves an invisible consumer.
  if (held.size === 0 && !model.consumers.has(each.consumer)) {
    return [204, 204];
  }
  return [world.allocate(each.consumer, generation, body), model.allocate(each.consumer, generation, held)];
}

describe("writers that coordinate by generations only", () => {
  it("behave like the model in any order: no write is lost or partial, and no capacity is exceeded", () => {
    let [done, rejected] = [0, 0];
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 60, size: "max" }), (steps) => {
        const world = new World();
        for (const n of PROVIDERS) {
          world.provider(n, { VCPU: TOTAL });
        }
        const model = new Model();
        const views = new Map<number, ObservedGenerations>();
        for (const each of steps) {
          const observed = views.get(each.writer);
          if (each.kind === "read" || observed === undefined) {
            views.set(each.writer, look(world));
            continue;
          }
          const [status, expected] = act(world, model, observed, each);
          expect(status).toBe(expected);
          if (status === 409) {
            rejected += 1;
          } else {
            done += 1;
          }
          for (const [n, { generation }] of model.providers) {
            const usages = world.json<{ resource_provider_generation: number; usages: Record<string, number> }>(
              "GET",
              `/resource_providers/${uuid(n)}/usages`,
            );
            expect(usages).toEqual({ resource_provider_generation: generation, usages: { VCPU: model.used(n) } });
          }
        }
      }),
      { numRuns: 150 },
    );
    expect(Math.min(done, rejected)).toBeGreaterThan(100);
  });
});
