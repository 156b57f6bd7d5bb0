import { beforeEach, describe, expect, it } from "vitest";
import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import { imagePropertiesOf, withImageProperties } from "../../../../../src/records/index.js";
import { holds, type Operated, operated, providerOf } from "../../../../unit/control-plane/conductor/tasks/operated.js";

const FAST = { "trait:CUSTOM_FAST": "required" };
const NEW_IMAGE = "5a000000-0000-4000-8000-000000000002";
const PREVIOUS = { os_type: "linux" };

let world: Operated;
let previousImageRef: string;

/** Creates a server whose rebuild from another image has been accepted. */
async function rebuilding(image: Readonly<Record<string, string>>, extraSpecs = {}): Promise<Task> {
  world = await operated("rebuilding");
  const { bench, instance } = world;
  previousImageRef = instance.imageRef;
  bench.store.instances.save(instance.uuid, {
    imageRef: NEW_IMAGE,
    systemMetadata: withImageProperties({}, image),
    flavor: { ...instance.flavor, extraSpecs },
  });
  await holds(world, instance.uuid, "devstack1");
  return { kind: "rebuild_in_place", ...world.head, previousImageRef, previousProperties: PREVIOUS };
}

async function giveTrait(host: string): Promise<void> {
  const uuid = providerOf(world, host);
  const { traits, generation } = await world.bench.placement.getProviderTraits(uuid);
  await world.bench.placement.setTraitsForProvider(uuid, { traits: [...traits, "CUSTOM_FAST"], generation });
}

const current = () => world.bench.instance(world.instance.uuid);
function outcome() {
  const { vmState, taskState, imageRef } = current();
  const [action] = world.bench.store.actions.list(world.instance.uuid);
  const events = world.bench.store.actions.events(action?.id ?? 0).map(({ event, result }) => `${event} ${result}`);
  return {
    vmState,
    taskState,
    imageRef,
    events,
    casts: world.bench.casts.map(({ host, method }) => `${host} ${method}`),
  };
}

describe("6.6 a rebuild from a new image", () => {
  const REJECTED = { vmState: "error", taskState: null, events: ["rebuild_server Error"], casts: [] };
  const ACCEPTED = {
    vmState: "active",
    taskState: "rebuilding",
    imageRef: NEW_IMAGE,
    events: ["rebuild_server Success"],
    casts: ["devstack1 rebuild_instance"],
  };

  beforeEach(() => {
    previousImageRef = "";
  });

  it("is sent to a host that has the traits required by the image", async () => {
    const task = await rebuilding(FAST);
    await giveTrait("devstack1");
    await world.bench.run(task);
    expect(outcome()).toEqual(ACCEPTED);
  });

  it("fails with the previous image and Nova's message if the host lacks a trait", async () => {
    const task = await rebuilding(FAST);
    await giveTrait("devstack2");
    await world.bench.run(task);
    expect(outcome()).toEqual({ ...REJECTED, imageRef: previousImageRef });
    expect(imagePropertiesOf(current())).toEqual(PREVIOUS);
    expect(world.bench.store.instances.fault(world.instance.uuid)).toMatchObject({
      message:
        "No valid host was found. Image traits cannot be satisfied by the current resource providers. Either specify a different image during rebuild or create a new server with the specified image.",
      details: expect.stringMatching(/^Missing: CUSTOM_FAST\./),
    });
    expect(await world.bench.held(world.instance.uuid), "its allocations stay").not.toEqual({});
  });

  it("fails on every host if the flavor forbids a trait of the image", async () => {
    const task = await rebuilding(FAST, { "trait:CUSTOM_FAST": "forbidden" });
    await giveTrait("devstack1");
    await world.bench.run(task);
    expect(outcome()).toEqual({ ...REJECTED, imageRef: previousImageRef });
    expect(world.bench.store.instances.fault(world.instance.uuid)?.message).toMatch(
      /^No valid host was found\. Image traits are part of forbidden traits in flavor associated with the server\./,
    );
  });

  it("fails if the image is for another architecture", async () => {
    const task = await rebuilding({ architecture: "aarch64" });
    const node = world.bench.store.computeNodes.byHost("devstack1")[0]?.id ?? 0;
    world.bench.store.computeNodes.save(node, { supportedHvSpecs: [["x86_64", "kvm", "hvm"]] });
    await world.bench.run(task);
    expect(outcome()).toEqual({ ...REJECTED, imageRef: previousImageRef });
  });

  it("does not change a server that another request owns", async () => {
    const task = await rebuilding(FAST);
    world.bench.store.instances.save(world.instance.uuid, { taskState: "deleting", taskRequestId: "req-delete" });
    await world.bench.run(task);
    expect(outcome()).toMatchObject({ taskState: "deleting", imageRef: NEW_IMAGE, casts: [] });
  });

  it("restores the image and keeps the vm_state if Placement does not respond", async () => {
    const task = await rebuilding(FAST);
    world.bench.placementBench.inject({ on: "GET /allocations", does: "refuse", times: 10 });
    await world.bench.run(task);
    expect(outcome()).toEqual({ ...REJECTED, vmState: "active", imageRef: previousImageRef });
  });
});
