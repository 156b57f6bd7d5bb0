import { beforeEach, expect, test } from "vitest";
import { sharedServiceToken } from "../../../../src/control-plane/identity/identity.js";
import { ApiWorld } from "../compute/api-world.js";

let world: ApiWorld;
let now = 0;
let take: ReturnType<typeof sharedServiceToken>;

beforeEach(async () => {
  world = await ApiWorld.open();
  now = 0;
  take = sharedServiceToken(world.apis.identity, { now: () => world.world.now, monotonic: () => now }, "nova");
});

test("requests within five minutes get the same token", () => {
  const first = take();
  now = 299_999;
  expect(take()).toBe(first);
  now = 300_000;
  const second = take();
  expect(second.token).not.toBe(first.token);
  expect(world.apis.identity.validate(first.token)).toBeDefined();
  expect(world.apis.identity.validate(second.token)).toMatchObject({ userName: "nova" });
});

test("a revoked token is not returned again", async () => {
  const revoked = take();
  world.apis.identity.ensurePassword("nova");
  const second = take();
  expect(world.apis.identity.validate(revoked.token)).toBeUndefined();
  expect(world.apis.identity.validate(second.token)).toBeDefined();
  await world.world.advance(3_600_000);
  expect(world.apis.identity.validate(take().token)).toBeDefined();
});
