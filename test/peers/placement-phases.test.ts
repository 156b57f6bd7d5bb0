import { readFile } from "node:fs/promises";
import { afterAll, describe, expect, test } from "vitest";
import { findInterruptedBuilds } from "../../src/agent/startup/interrupted-builds.js";
import { UndiciHttpClient } from "../../src/runtime/node/undici-http-client.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import type { ObservedRequest } from "../fixtures/tracker-http.js";
import { type TestAgent, TrackerWorld } from "../fixtures/tracker-world.js";
import { placementOfTests } from "./placement/placement-of-tests.js";

interface Recorded {
  readonly src: string;
  readonly method: string;
  readonly path: string;
  readonly api_version: string | null;
  readonly response_body: Readonly<Record<string, unknown>> | null;
}
type Phase = "first-start" | "restart" | "idle-130s" | "boot" | "delete" | "evacuate";

const recording = JSON.parse(
  await readFile(new URL("../fixtures/golden/nova/placement-phases.json", import.meta.url), "utf8"),
) as { readonly requests: Readonly<Record<Phase, readonly Recorded[]>> };

/** Returns the requests of the host's nova-compute without version discovery, which our client does not need. */
function recorded(phase: Phase, src: string) {
  return recording.requests[phase].filter((one) => one.src === src && one.path !== "/");
}

function shape(method: string, path: string, version: string | null): string {
  return `${method} ${path.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "{uuid}").replace(/in:.*/, "in:…")} ${version}`;
}
function sent(agent: TestAgent) {
  return agent.http.take().map(({ method, path, version }: ObservedRequest) => shape(method, path, version));
}
function recordedShapes(phase: Phase, src: string) {
  return recorded(phase, src).map(({ method, path, api_version }) =>
    shape(method, path, api_version?.replace(/^placement /, "") ?? null),
  );
}

/** Checks that each request occurs at most as often as nova-compute sent it. */
function expectAtMost(requests: readonly string[], allowed: readonly string[], phase: Phase): void {
  const left = [...allowed];
  const more = requests.filter((request) => {
    const at = left.indexOf(request);
    if (at >= 0) {
      left.splice(at, 1);
    }
    return at < 0;
  });
  expect(more, `${phase}: requests that nova-compute does not send, or not so often`).toEqual([]);
}

function responseOf(phase: Phase, end: string) {
  const found = recorded(phase, "rec1").findLast(({ path }) => path.endsWith(end))?.response_body;
  if (!found) {
    throw new TypeError(`the recording has no …${end} in ${phase}`);
  }
  return found;
}

describe.each([
  ["requests as nova-compute sends them", false],
  ["lean_tracking", true],
])("the agent at Debian's real Placement, %s, compared with a recorded nova-compute", (_, leanTracking) => {
  const real = placementOfTests();
  const http = new UndiciHttpClient();
  const config = {
    compute: { leanTracking },
    // Zed's defaults, as in the recording (spec 4.10).
    defaults: { initialCpuAllocationRatio: 16, initialRamAllocationRatio: 1.5 },
  };

  afterAll(async () => {
    await http.close();
  });
  const setUp = async () => {
    const endpoint = real().url;
    const world = await TrackerWorld.create(leanTracking ? "lean" : "as nova", { other: { http, endpoint } });
    const start = (host: string, hypervisor: StubHypervisor) =>
      world.agent(host, hypervisor, { http, endpoint, config });
    const get = async (path: string, version: string) => {
      const headers = { "x-auth-token": "admin", "openstack-api-version": `placement ${version}` };
      return JSON.parse((await http.request({ method: "GET", url: `${endpoint}${path}`, headers })).body);
    };
    return { world, start, get };
  };

  test("first start, restart, idle: provider, inventory, traits, generation; no additional request", async () => {
    const { start, get } = await setUp();
    const hypervisor = new StubHypervisor("rec1");
    const first = await start("rec1", hypervisor);
    const provider = `/resource_providers/${first.nodeUuid}`;
    await first.tracker.updateAvailableResource({ startup: true });
    expectAtMost(sent(first), recordedShapes("first-start", "rec1"), "first-start");

    const state = async () => ({
      provider: await get(provider, "1.14"),
      inventories: await get(`${provider}/inventories`, "1.26"),
      traits: (await get(`${provider}/traits`, "1.6")).traits.sort(),
      aggregates: (await get(`${provider}/aggregates`, "1.19")).aggregates,
      allocations: await get(`${provider}/allocations`, "1.0"),
    });
    const traits = responseOf("restart", "/traits").traits as string[];
    const listed = responseOf("restart", `in_tree=0c289c26-72cd-47eb-9c89-46d9e443a85f`).resource_providers;
    const [known] = listed as readonly [{ readonly name: string; readonly generation: number }];
    const expected = {
      provider: expect.objectContaining({ uuid: first.nodeUuid, name: known.name, generation: known.generation }),
      inventories: responseOf("restart", "/inventories"),
      // OWNER_NOVA is newer than the recording (spec 4.7).
      traits: [...traits, "OWNER_NOVA"].sort(),
      aggregates: responseOf("restart", "/aggregates").aggregates,
      allocations: responseOf("restart", "/allocations"),
    };
    expect(await state()).toEqual(expected);

    const second = await start("rec1", hypervisor);
    const nodes = await second.session.call("compute_nodes_by_host", { host: "rec1" });
    const { logger } = second.context.runtime;
    await findInterruptedBuilds(
      {
        ...second.context,
        logger,
        identity: undefined as never,
        driverRecord: undefined as never,
        changesDriver: false,
      },
      nodes,
      new Set(),
    );
    await second.tracker.updateAvailableResource({ startup: true });
    expectAtMost(sent(second), recordedShapes("restart", "rec1"), "restart");
    expect(await state()).toEqual(expected);

    await second.tracker.updateAvailableResource({ startup: false });
    await second.tracker.updateAvailableResource({ startup: false });
    const idle = sent(second);
    const allowed = recordedShapes("idle-130s", "rec1");
    if (leanTracking) {
      // One listing per pass; allocations are read again once after associations were refreshed.
      const listing = "GET /resource_providers?in_tree={uuid} 1.14";
      expect(idle.length).toBeLessThan(allowed.length);
      expectAtMost(idle, [listing, listing, ...allowed.slice(0, 1)], "idle-130s");
    } else {
      expectAtMost(idle, allowed, "idle-130s");
    }
    expect(await state()).toEqual(expected);
  });

  test("boot and delete: allocations and generations; no additional request", async () => {
    const { world, start, get } = await setUp();
    const agent = await start("rec1", new StubHypervisor("rec1"));
    await agent.tracker.updateAvailableResource({ startup: true });
    sent(agent);
    const vm = world.instance();
    await world.claim(vm, agent.nodeUuid);
    await world.build(agent, vm);
    expectAtMost(sent(agent), recordedShapes("boot", "rec1"), "boot");
    const [recordedConsumer] = Object.keys(responseOf("boot", "/allocations").allocations as object);
    const rename = (text: unknown) =>
      JSON.parse(
        JSON.stringify(text)
          .replaceAll(recordedConsumer ?? "", vm.uuid)
          .replaceAll("0c289c26-72cd-47eb-9c89-46d9e443a85f", agent.nodeUuid),
      );
    const onProvider = () => get(`/resource_providers/${agent.nodeUuid}/allocations`, "1.0");
    expect(await onProvider()).toEqual(rename(responseOf("boot", "/allocations")));
    const consumer = rename(responseOf("boot", `/allocations/${recordedConsumer}`));
    const { projectId: project_id, userId: user_id } = vm;
    expect(await get(`/allocations/${vm.uuid}`, "1.28")).toEqual({ ...consumer, project_id, user_id });

    world.store.instances.save(vm.uuid, { taskState: "deleting" });
    await agent.operations.run("terminate_instance", { instanceUuid: vm.uuid, requestId: "req-delete" });
    expectAtMost(sent(agent), recordedShapes("delete", "rec1"), "delete");
    const before = rename(responseOf("delete", "/allocations"));
    // DELETE does not increment generations (spec 5.4).
    expect(await onProvider()).toEqual({ ...before, allocations: {} });
    expect(await get(`/allocations/${vm.uuid}`, "1.28")).toEqual({ allocations: {} });
  });

  test("an evacuation that fails on the destination as recorded deletes only the destination's record", async () => {
    const { world, start, get } = await setUp();
    const source = await start("rec1", new StubHypervisor("rec1"));
    const agent = await start("rec2", new StubHypervisor("rec2"));
    for (const one of [source, agent]) {
      await one.tracker.updateAvailableResource({ startup: true });
    }
    const vm = await world.placed(source, { taskState: "rebuilding" });
    await world.claim(vm, agent.nodeUuid);
    const migration = world.store.migrations.create({
      instanceUuid: vm.uuid,
      migrationType: "evacuation",
      status: "accepted",
      changes: { sourceCompute: "rec1", sourceNode: "rec1", destCompute: "rec2" },
    });
    sent(agent);
    const before = await get(`/allocations/${vm.uuid}`, "1.28");
    agent.hypervisor.guests.set(vm.uuid, 1);
    const request = { instanceUuid: vm.uuid, migrationId: migration.id, onSharedStorage: null, recreate: true };
    const rest = { node: "rec2", imageRef: vm.imageRef, targetStopped: false, requestId: "req-e" };
    await expect(agent.operations.run("rebuild_instance", { ...request, ...rest })).rejects.toMatchObject({
      name: "InstanceExists",
    });
    expectAtMost(sent(agent), recordedShapes("evacuate", "rec2"), "evacuate");
    const after = await get(`/allocations/${vm.uuid}`, "1.28");
    // The write increments the generations of the remaining provider and of the consumer.
    const retained = before.allocations[source.nodeUuid];
    expect(after).toEqual({
      ...before,
      allocations: { [source.nodeUuid]: { ...retained, generation: retained.generation + 1 } },
      consumer_generation: before.consumer_generation + 1,
    });
  });
});
