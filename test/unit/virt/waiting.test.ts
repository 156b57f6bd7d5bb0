import { expect, test } from "vitest";
import { createDriverHost } from "../../../src/virt/create-driver-host.js";
import { defineDriver } from "../../../src/virt/index.js";
import { hostOf, instanceOf, spawnOptions, UUID, virtualContext } from "./fixtures.js";

const forEver = () => new Promise<never>(() => {});

test("8.10 a pending call is logged every 10 s, with driver, method, instance, request and limit", async () => {
  const { host, runtime } = await hostOf({ spawn: forEver });
  const spawned = host
    .onBehalf(UUID, "req-1", () => host.spawn(instanceOf(), spawnOptions))
    .catch((error: unknown) => error);
  await runtime.advance(25_000);
  const text = (seconds: number) =>
    `spawn of driver broken, for instance ${UUID}, on behalf of req-1, for ${seconds} s now, at most 3600 s`;
  expect(runtime.logs.map(({ message }) => message)).toEqual([10, 20].map((each) => `waiting for ${text(each)}`));
  expect(runtime.logs[0]?.fields).toMatchObject({
    driver: "broken",
    method: "spawn",
    instance: UUID,
    request_id: "req-1",
  });
  expect([...host.waitedFor.values()]).toEqual([text(25)]);
  await runtime.advance(3_600_000);
  expect(String(await spawned)).toContain("spawn must settle within 3600000 ms");
  expect([...host.waitedFor.values()]).toEqual([]);
});

test("8.10 a limit of 0 means no limit", async () => {
  const { host, runtime } = await hostOf({ initHost: forEver }, { timeouts: { initHost: 0 } });
  void host.initHost();
  await runtime.advance(86_400_000);
  expect([...host.waitedFor.values()]).toEqual(["initHost of driver broken, for 86400 s now, without a limit"]);
});

test.each([
  [undefined, 60_000],
  [5_000, 5_000],
])("8.10 create has a limit as well: %s", async (createTimeout, limit) => {
  const { runtime, context } = virtualContext();
  const definition = defineDriver({ name: "slow", apiVersion: "1.0", create: forEver });
  const options = createTimeout === undefined ? {} : { createTimeout };
  const made = createDriverHost(definition, context, options).catch((error: unknown) => error);
  await runtime.advance(limit);
  expect(String(await made)).toContain(`driver slow: create must settle within ${limit} ms`);
});
