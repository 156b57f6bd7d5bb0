import { afterEach, describe, expect, it } from "vitest";
import { CAPACITY, CONSUMERS, held, Ledger, PROVIDERS, populate, usage, WRITERS, write } from "./placement-load.js";
import { at, PlacementClient, PlacementServer } from "./placement-server.js";

describe("writers racing on the same providers and consumers", () => {
  let server: PlacementServer | undefined;
  let client: PlacementClient | undefined;

  afterEach(async () => {
    client?.close();
    await server?.program.kill();
  });

  it("lose no write, exceed no capacity and get an error for every conflict", async () => {
    server = await PlacementServer.start();
    const { url } = server;
    client = new PlacementClient(url);
    await populate(client);
    const ledger = new Ledger();
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(url, ledger, writer, 60)));

    expect(ledger.surprises).toEqual([]);
    expect(ledger.rejections.get("placement.concurrent_update")).toBeGreaterThan(0);
    expect(ledger.rejections.get("placement.undefined_code")).toBeGreaterThan(0);

    // At most one write can succeed for each generation.
    const acknowledged = ledger.writes.filter((each) => each.acknowledged);
    const bases = acknowledged.map(({ consumer, generation }) => `${consumer} ${generation}`);
    expect(new Set(bases).size).toBe(bases.length);

    const total: Record<string, number> = Object.fromEntries(PROVIDERS.map((uuid) => [uuid, 0]));
    for (const consumer of CONSUMERS) {
      const { generation, amounts } = await held(client, consumer);
      const own = acknowledged.filter((each) => each.consumer === consumer);
      const last = own.find((each) => (each.generation ?? 0) === own.length - 1);
      expect(generation).toBe(own.length === 0 ? null : own.length);
      expect(amounts).toEqual(last?.amounts ?? {});
      for (const [uuid, amount] of Object.entries(amounts)) {
        total[uuid] = (total[uuid] ?? 0) + amount;
      }
    }
    for (const uuid of PROVIDERS) {
      const used = await usage(client, uuid);
      expect(used).toBe(total[uuid]);
      expect(used).toBeLessThanOrEqual(CAPACITY);
      // Only acknowledged changes increment the generation, by one each.
      const touched = acknowledged.filter((each) => uuid in each.amounts).length;
      const { body } = await client.send("GET", `/resource_providers/${uuid}`);
      expect(at(body, "generation")).toBe(1 + touched + (ledger.inventories.get(uuid) ?? 0));
    }
  });
});
