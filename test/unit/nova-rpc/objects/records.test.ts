import { describe, expect, it } from "vitest";
import { COMPUTE_NODE_OBJECT } from "../../../../src/nova-rpc/conductor-calls/compute-nodes.js";
import { SERVICE_OBJECT } from "../../../../src/nova-rpc/conductor-calls/services.js";
import { FLAVOR_OBJECT, INSTANCE_OBJECT } from "../../../../src/nova-rpc/objects/instance.js";
import { MIGRATION_OBJECT } from "../../../../src/nova-rpc/objects/migration.js";
import type { NovaObject } from "../../../../src/nova-rpc/objects/primitive.js";
import { profileOf } from "../../../../src/nova-rpc/objects/profile.js";
import {
  fieldsOf,
  type RecordObject,
  readRecord,
  writeRecord,
} from "../../../../src/nova-rpc/objects/record-object.js";
import { isObject } from "../../../../src/runtime/collections.js";
import { recordedPhases, recording } from "../../../fixtures/nova-recordings.js";

const ZED = profileOf(64);
const EPOXY = profileOf(68);

/** Returns every object of this name in a value. */
function objectsNamed(name: string, value: unknown): NovaObject[] {
  if (Array.isArray(value)) {
    return value.flatMap((item) => objectsNamed(name, item));
  }
  if (!isObject(value)) {
    return [];
  }
  const inner = Object.values(value).flatMap((item) => objectsNamed(name, item));
  return value["nova_object.name"] === name ? [value as unknown as NovaObject, ...inner] : inner;
}

const recorded = (["zed", "2025.1", "2026.2"] as const).flatMap((release) =>
  recordedPhases(release).flatMap((phase) => recording(release, phase).map(({ msg }) => msg)),
);

/** Replaces nested objects by their data, for comparison. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  if (!isObject(value)) {
    return value;
  }
  const data = value["nova_object.data"];
  return isObject(data)
    ? plain(data)
    : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

/** Asserts that a record is written back with the values that were read, as far as the object had them. */
function expectSame<R>(kind: RecordObject<R>, object: NovaObject, except: readonly string[] = []): void {
  const data = object["nova_object.data"];
  const written = fieldsOf(kind, readRecord(kind, object), EPOXY);
  for (const [field, value] of Object.entries(written)) {
    const isPresent = data[field] !== undefined && data[field] !== null && !except.includes(field);
    if (isPresent) {
      expect(plain(value), `${kind.name}.${field}`).toMatchObject(plainWithout(data[field], plain(value)));
    }
  }
}

/** Returns the part of the recorded value that the record has. */
function plainWithout(recordedValue: unknown, writtenValue: unknown): never {
  const fullValue = plain(recordedValue);
  if (!isObject(fullValue) || !isObject(writtenValue)) {
    return fullValue as never;
  }
  const entries = Object.entries(fullValue).filter(([key, value]) => key in writtenValue && value !== null);
  return Object.fromEntries(entries) as never;
}

describe("objects of Nova and our records", () => {
  it.each([
    ["Flavor", FLAVOR_OBJECT, 100],
    ["Service", SERVICE_OBJECT, 20],
    ["ComputeNode", COMPUTE_NODE_OBJECT, 20],
    ["Migration", MIGRATION_OBJECT, 20],
  ] as const)("%s is read and written back as it was", (name, kind, atLeast) => {
    const fullObjects = objectsNamed(name, recorded).filter((object) => "id" in object["nova_object.data"]);
    const wellFormed = fullObjects.filter(({ "nova_object.data": data }) => "uuid" in data || name === "Flavor");
    expect(wellFormed.length).toBeGreaterThan(atLeast);
    for (const object of wellFormed) {
      expectSame(kind as RecordObject<unknown>, object);
    }
  });

  it("an Instance is read and written back unchanged, with its flavors and migration context", () => {
    const fullInstances = objectsNamed("Instance", recorded).filter(({ "nova_object.data": data }) => "flavor" in data);
    expect(fullInstances.length).toBeGreaterThan(50);
    for (const object of fullInstances) {
      expectSame(INSTANCE_OBJECT, object);
    }
    expect(fullInstances.some(({ "nova_object.data": data }) => isObject(data.migration_context))).toBe(true);
  });

  it("reads an instance as the record has it", () => {
    const [build] = recording("zed", "build").filter(({ msg }) => msg.method === "build_and_run_instance");
    const instance = readRecord(INSTANCE_OBJECT, build?.msg.args?.instance);
    expect(instance).toMatchObject({
      vmState: "building",
      taskState: "scheduling",
      host: null,
      deleted: 0,
      powerState: 0,
      computeId: null,
      configDrive: false,
      migrationContext: null,
      taskRequestId: null,
    });
    expect(instance.flavor).toMatchObject({ vcpus: expect.any(Number), extraSpecs: {} });
    expect(instance.createdAt).toBeGreaterThan(Date.parse("2026-11-01"));
  });

  it("omits fields that an older release does not have", () => {
    const changes = { host: "h", node: "n", computeId: 7 };
    expect(fieldsOf(INSTANCE_OBJECT, changes, ZED)).toEqual({ host: "h", node: "n" });
    expect(fieldsOf(INSTANCE_OBJECT, changes, EPOXY)).toEqual({ host: "h", node: "n", compute_id: 7 });
    expect(fieldsOf(MIGRATION_OBJECT, { destComputeId: 7 }, ZED)).toEqual({});
  });

  it("never writes fields of the store, or fields that Nova does not have", () => {
    const changes = { id: 5, createdAt: 1, deleted: 5, taskRequestId: "req-1", tags: ["a"], taskState: null };
    expect(fieldsOf(INSTANCE_OBJECT, changes, ZED)).toEqual({ task_state: null });
  });

  it("writes times as Nova does, and reads them in any form", () => {
    const at = Date.parse("2026-11-22T02:00:41Z");
    expect(fieldsOf(INSTANCE_OBJECT, { launchedAt: at + 400 }, ZED)).toEqual({ launched_at: "2026-11-22T02:00:41Z" });
    const read = (timestamp: string) =>
      readRecord(SERVICE_OBJECT, {
        ...writeRecord(SERVICE_OBJECT, { id: 1, uuid: "u", host: "h", binary: "b" }, ZED),
        "nova_object.data": { id: 1, uuid: "u", host: "h", binary: "b", last_seen_up: timestamp },
      }).lastSeenUp;
    expect(read("2026-11-22T02:00:41Z")).toBe(at);
    expect(read("2026-11-22T02:00:41.000000")).toBe(at);
    expect(read("2026-11-22T03:00:41+01:00")).toBe(at);
  });

  it("gives a deleted row its id, as our records have it", () => {
    const [migration] = objectsNamed("Migration", recorded);
    const data = { ...migration?.["nova_object.data"], deleted: true, id: 12 };
    expect(readRecord(MIGRATION_OBJECT, { ...migration, "nova_object.data": data }).deleted).toBe(12);
  });

  it("omits hypervisors that are not in Nova's enumeration, for which a conductor would reject the node", () => {
    const specs = [
      ["x86_64", "fake-libvirt", "hvm"],
      ["x86_64", "fake", "hvm"],
    ] as const;
    expect(fieldsOf(COMPUTE_NODE_OBJECT, { supportedHvSpecs: specs }, ZED)).toEqual({
      supported_hv_specs: [
        expect.objectContaining({ "nova_object.data": { arch: "x86_64", hv_type: "fake", vm_mode: "hvm" } }),
      ],
    });
  });

  it.each([null, 5, "Instance", [], {}, { "nova_object.name": "Instance" }])(
    "rejects %j instead of an instance",
    (value) => {
      expect(() => readRecord(INSTANCE_OBJECT, value)).toThrow(/expected Instance/);
    },
  );
});
