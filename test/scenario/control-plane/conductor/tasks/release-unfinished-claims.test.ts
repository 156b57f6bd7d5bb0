import { describe, expect, test } from "vitest";
import { releaseUnfinishedClaims } from "../../../../../src/control-plane/conductor/tasks/source-allocations.js";
import type { TaskDeps } from "../../../../../src/control-plane/conductor/tasks/task-deps.js";
import type { Migration, MigrationStatus, MigrationType } from "../../../../../src/records/index.js";
import { holds, migrationOf, operated, REQUEST } from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { errorResponse } from "../../../../unit/placement-client/bench.js";

const HOSTS = ["devstack1", "s", "d", "x"];

/** Returns the hosts on which the instance, with an allocation on each host before, has one afterwards. */
async function left(
  move: readonly [MigrationType, MigrationStatus] | null,
  options: { readonly isFailed?: boolean; readonly isAnothers?: boolean; readonly conflict?: boolean } = {},
): Promise<readonly string[]> {
  const world = await operated("resize_prep", { hosts: HOSTS });
  const { bench, instance } = world;
  await holds(world, instance.uuid, ...HOSTS);
  let failed: Migration | undefined;
  if (move) {
    const of = options.isAnothers ? { ...world, instance: await bench.server("x") } : world;
    const made = migrationOf(of, move[0], move[1], { sourceCompute: "s", sourceNode: "s", destCompute: "d" });
    failed = options.isFailed ? made : undefined;
  }
  if (options.conflict) {
    const does = errorResponse(409, "placement.concurrent_update", "another");
    bench.placementBench.inject({ on: "PUT /allocations", does });
  }
  const { store, placement } = bench;
  const deps = { store, placement, logger: bench.placementBench.runtime.logger } as unknown as TaskDeps;
  bench.placementBench.mark();
  await releaseUnfinishedClaims(deps, instance, REQUEST, failed ? [failed] : []);
  const ids = bench.placementBench.sent.map(({ headers }) => headers["x-openstack-request-id"]);
  expect(new Set(ids)).toEqual(new Set([REQUEST]));
  return Object.keys(await bench.held(instance.uuid)).sort();
}

describe("allocations of an instance on nodes that no record explains are removed", () => {
  test.each<[MigrationType, MigrationStatus, { isFailed?: boolean; isAnothers?: boolean }, readonly string[]]>([
    ["migration", "migrating", {}, ["d", "devstack1", "s"]],
    ["migration", "confirmed", {}, ["devstack1"]],
    ["migration", "error", { isFailed: true }, ["devstack1", "s"]],
    ["migration", "pre-migrating", { isFailed: true }, ["devstack1", "s"]],
    ["evacuation", "done", {}, ["devstack1", "s"]],
    ["evacuation", "completed", {}, ["devstack1"]],
    ["evacuation", "accepted", {}, ["d", "devstack1", "s"]],
    ["evacuation", "accepted", { isFailed: true }, ["devstack1", "s"]],
    ["migration", "migrating", { isAnothers: true }, ["devstack1"]],
  ])("with a %s that is %s, %j", async (type, status, options, expected) => {
    expect(await left([type, status], options)).toEqual(expected);
  });

  test("without a move only those on its host remain, despite a concurrent write", async () => {
    expect(await left(null)).toEqual(["devstack1"]);
    expect(await left(null, { conflict: true })).toEqual(["devstack1"]);
  });
});
