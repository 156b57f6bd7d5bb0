import { beforeEach, describe, expect, it } from "vitest";
import { createPlacement, type PlacementService } from "../../../../../src/control-plane/placement/service.js";
import { openDatabase } from "../../../../../src/control-plane/placement/store/database.js";
import type { ServiceResponse } from "../../../../../src/runtime/http-server.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { adminRequest } from "../../../../fixtures/admin-request.js";
import { consumer, uuid, World } from "../world.js";
import { FailingDatabase } from "./failing-database.js";

type HandlerResult = ServiceResponse | Promise<ServiceResponse>;

/** Collects the requests of an event-loop tick; the test ends each tick. */
class ManualTicks {
  readonly #actions: (() => void)[] = [];
  afterArrivals(action: () => void): void {
    this.#actions.push(action);
  }
  end(): void {
    for (const action of this.#actions.splice(0)) {
      action();
    }
  }
}

describe("concurrent writes", () => {
  let database: FailingDatabase;
  let ticks: ManualTicks;
  let service: PlacementService;
  let now: number;

  beforeEach(() => {
    now = 0;
    database = new FailingDatabase(openDatabase(":memory:"));
    const { random, logger } = createVirtualRuntime();
    ticks = new ManualTicks();
    service = createPlacement({
      clock: { now: () => 0, monotonic: () => now },
      random,
      logger,
      database,
      servers: ticks,
    });
    const world = new World({ database });
    world.provider(1, { VCPU: 8 });
    world.provider(2, { VCPU: 8 });
    service = createPlacement({
      clock: { now: () => 0, monotonic: () => now },
      random,
      logger,
      database,
      servers: ticks,
    });
    database.ran.length = 0;
  });

  const send = (method: string, target: string, body?: unknown): HandlerResult =>
    service.handle(adminRequest(method, target, "1.39", body));

  const put = (n: number, generation: number | null, vcpus: number, provider = 1): HandlerResult =>
    send("PUT", `/allocations/${consumer(n)}`, {
      allocations: { [uuid(provider)]: { resources: { VCPU: vcpus } } },
      project_id: "project",
      user_id: "user",
      consumer_generation: generation,
      consumer_type: "INSTANCE",
    });

  /** Sends two writes in one tick: from the next tick, concurrent writes wait for each other. */
  async function crowd(): Promise<void> {
    const first = send("PUT", "/traits/CUSTOM_A");
    const second = send("PUT", "/traits/CUSTOM_B");
    ticks.end();
    expect((await first).status + (await second).status).toBe(402);
    database.ran.length = 0;
  }

  const statuses = async (responses: readonly HandlerResult[]) =>
    (await Promise.all(responses)).map(({ status }) => status);
  const commits = () => database.ran.filter((sql) => sql === "COMMIT").length;
  const atOnce = <T>(response: HandlerResult): T => {
    if (response instanceof Promise) {
      throw new Error("it waits");
    }
    return JSON.parse(response.body) as T;
  };
  const used = (provider: number) =>
    atOnce<{ usages: { VCPU: number } }>(send("GET", `/resource_providers/${uuid(provider)}/usages`)).usages.VCPU;

  /** Returns the state that a new process loads from the current database. */
  function afterKill(): Record<string, unknown> {
    const again = new World({ database });
    return Object.fromEntries(
      [1, 2, 3, 4].map((n) => [
        n,
        again.json<{ consumer_generation?: number }>("GET", `/allocations/${consumer(n)}`).consumer_generation,
      ]),
    );
  }

  it("are committed in one transaction before any response", async () => {
    await crowd();
    const respondedIndexes: number[] = [];
    const responses = [put(1, null, 1), put(2, null, 1), put(3, null, 1, 2)];
    responses.forEach((response, index) => void Promise.resolve(response).then(() => respondedIndexes.push(index)));
    await Promise.resolve();
    expect([respondedIndexes, commits()]).toEqual([[], 0]);
    expect(afterKill()).toEqual({ 1: undefined, 2: undefined, 3: undefined, 4: undefined });
    ticks.end();
    expect(commits()).toBe(1);
    expect(afterKill()).toEqual({ 1: 1, 2: 1, 3: 1, 4: undefined });
    expect(await statuses(responses)).toEqual([204, 204, 204]);
    expect(respondedIndexes).toEqual([0, 1, 2]);
    expect([used(1), used(2)]).toEqual([2, 1]);
  });

  it("are handled in order: generations conflict and capacity is exceeded as in separate requests", async () => {
    await crowd();
    const responses = [
      put(1, null, 5),
      put(1, null, 1),
      put(2, null, 5),
      put(1, 1, 2),
      put(2, null, 5),
      put(3, null, 9, 2),
    ];
    ticks.end();
    const alone = new World();
    alone.provider(1, { VCPU: 8 });
    alone.provider(2, { VCPU: 8 });
    const expected = [
      alone.allocate(1, null, { 1: { VCPU: 5 } }),
      alone.allocate(1, null, { 1: { VCPU: 1 } }),
      alone.allocate(2, null, { 1: { VCPU: 5 } }),
      alone.allocate(1, 1, { 1: { VCPU: 2 } }),
      alone.allocate(2, null, { 1: { VCPU: 5 } }),
      alone.allocate(3, null, { 2: { VCPU: 9 } }),
    ];
    expect(expected).toEqual([204, 409, 409, 204, 204, 409]);
    expect(await statuses(responses)).toEqual(expected);
    expect(commits()).toBe(1);
    expect(afterKill()).toEqual({ 1: 2, 2: 1, 3: undefined, 4: undefined });
  });

  it("are stored in their final state, even if one reverts another", async () => {
    await crowd();
    const provider = `/resource_providers/${uuid(5)}`;
    const responses = [
      put(1, null, 1),
      send("DELETE", `/allocations/${consumer(1)}`),
      put(1, null, 3),
      send("POST", "/resource_providers", { name: "p5", uuid: uuid(5) }),
      send("PUT", `${provider}/inventories`, { resource_provider_generation: 0, inventories: { VCPU: { total: 4 } } }),
      put(2, null, 4, 5),
      send("DELETE", `/allocations/${consumer(2)}`),
      send("DELETE", provider),
      // The deleted provider's name is free again, so the rows must be written in this order.
      send("PUT", `/resource_providers/${uuid(2)}`, { name: "p5", parent_provider_uuid: null }),
      send("POST", "/resource_providers", { name: "p2", uuid: uuid(6) }),
    ];
    ticks.end();
    expect(await statuses(responses)).toEqual([204, 204, 204, 200, 200, 204, 204, 204, 200, 200]);
    const names = (body: string) =>
      (JSON.parse(body) as { resource_providers: { name: string; uuid: string }[] }).resource_providers.map(
        ({ name, uuid: id }) => `${name} ${id}`,
      );
    const again = new World({ database });
    expect(names(again.send("GET", "/resource_providers").body).sort()).toEqual(
      [`p1 ${uuid(1)}`, `p2 ${uuid(6)}`, `p5 ${uuid(2)}`].sort(),
    );
    expect(afterKill()).toEqual({ 1: 1, 2: undefined, 3: undefined, 4: undefined });
  });

  it("fail separately: if the database rejects one, only that one is rolled back", async () => {
    await crowd();
    database.failing = /INSERT INTO placement_traits/;
    const responses = [put(1, null, 2), send("PUT", "/traits/CUSTOM_C"), put(2, null, 3), put(1, 1, 4)];
    ticks.end();
    expect(await statuses(responses)).toEqual([204, 500, 204, 204]);
    expect(used(1)).toBe(7);
    expect(afterKill()).toEqual({ 1: 2, 2: 1, 3: undefined, 4: undefined });
    database.failing = undefined;
    const again = send("PUT", "/traits/CUSTOM_C");
    ticks.end();
    expect((await again).status).toBe(201);
  });

  it("all fail if nothing can be written, and leave no changes", async () => {
    await crowd();
    database.failing = /COMMIT/;
    const responses = [put(1, null, 2), put(2, null, 3), put(1, 1, 4)];
    ticks.end();
    // The third request names the generation that the first one would have created.
    expect(await statuses(responses)).toEqual([500, 500, 409]);
    expect(used(1)).toBe(0);
    expect(afterKill()).toEqual({ 1: undefined, 2: undefined, 3: undefined, 4: undefined });
    database.failing = undefined;
    const after = [put(1, null, 2), put(2, null, 3)];
    ticks.end();
    expect(await statuses(after)).toEqual([204, 204]);
    expect(used(1)).toBe(5);
  });

  it("are committed before a read between them, whose response is durable", async () => {
    await crowd();
    const first = put(1, null, 2);
    expect(used(1)).toBe(2);
    expect(commits()).toBe(1);
    expect(afterKill()).toMatchObject({ 1: 1 });
    const second = put(2, null, 2);
    ticks.end();
    expect(await statuses([first, second])).toEqual([204, 204]);
  });

  it("leave the consumer of an allocation whose provider does not exist, as a separate request does", async () => {
    await crowd();
    const responses = [put(1, null, 1), put(2, null, 1, 7)];
    ticks.end();
    expect(await statuses(responses)).toEqual([204, 400]);
    const again = [put(2, null, 1), put(2, 0, 1)];
    ticks.end();
    expect(await statuses(again)).toEqual([409, 204]);
  });

  it("wait for a limited number of others, and for a limited time", async () => {
    await crowd();
    const many = Array.from({ length: 130 }, (_, n) => send("PUT", `/traits/CUSTOM_N${n}`));
    expect(commits()).toBe(1);
    ticks.end();
    expect(commits()).toBe(2);
    expect(new Set(await statuses(many))).toEqual(new Set([201]));
    const early = send("PUT", "/traits/CUSTOM_EARLY");
    now += 5;
    const late = send("PUT", "/traits/CUSTOM_LATE");
    expect(commits()).toBe(3);
    expect(await statuses([early, late])).toEqual([201, 201]);
  });

  it("do not delay a single request", () => {
    for (let n = 0; n < 3; n += 1) {
      expect(send("PUT", `/traits/CUSTOM_${n}`)).toMatchObject({ status: 201 });
      ticks.end();
    }
    expect(commits()).toBe(3);
  });
});
