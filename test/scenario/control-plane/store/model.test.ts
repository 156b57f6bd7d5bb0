import fc from "fast-check";
import { describe, expect } from "vitest";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type { TaskState } from "../../../../src/records/index.js";
import { property } from "../../../fixtures/property.js";
import { addService, memoryStore, newInstance, RESOURCES, uuidOf } from "../../../unit/control-plane/store/support.js";

/** The expected state of the store in plain maps, by the rules of spec 1.1 and 1.4. */
interface Model {
  readonly instances: Map<number, { task: TaskState | null; placed: boolean; deleted: boolean }>;
  readonly nodes: Map<number, { host: string; name: string; deleted: boolean }>;
}

const key = fc.integer({ min: 1, max: 4 });
const host = fc.constantFrom("devstack1", "devstack2");
const name = fc.constantFrom("hv-a", "hv-b");
const task = fc.constantFrom<TaskState | null>(null, "spawning", "deleting");

const step = fc.oneof(
  fc.record({ kind: fc.constant("create instance" as const), key }),
  fc.record({ kind: fc.constant("save" as const), key, to: task, expected: fc.array(task, { maxLength: 2 }) }),
  fc.record({ kind: fc.constant("place" as const), key, host: fc.constantFrom("host" as const, "nowhere" as const) }),
  fc.record({ kind: fc.constant("destroy" as const), key, guarded: fc.boolean() }),
  fc.record({ kind: fc.constant("create node" as const), key, host, name }),
  fc.record({ kind: fc.constant("destroy node" as const), key, host }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Applies the step to the model. Returns false if the store must reject it. */
function expected(model: Model, action: Step): boolean {
  const instance = model.instances.get(action.key);
  const node = model.nodes.get(action.key);
  switch (action.kind) {
    case "create instance":
      if (instance) {
        return false;
      }
      model.instances.set(action.key, { task: "scheduling", placed: false, deleted: false });
      return true;
    case "save":
      if (!instance || instance.deleted || (action.expected.length > 0 && !action.expected.includes(instance.task))) {
        return false;
      }
      instance.task = action.to;
      return true;
    case "place":
      if (!instance || instance.deleted) {
        return false;
      }
      instance.placed = action.host === "host";
      return true;
    case "destroy":
      if (!instance || instance.deleted || (action.guarded && instance.placed)) {
        return false;
      }
      instance.deleted = true;
      return true;
    case "create node": {
      const rival = [...model.nodes].some(
        ([other, row]) => other !== action.key && !row.deleted && row.host === action.host && row.name === action.name,
      );
      if (!rival) {
        model.nodes.set(action.key, { host: action.host, name: action.name, deleted: false });
      }
      return !rival;
    }
    case "destroy node":
      if (!node || node.deleted || node.host !== action.host) {
        return false;
      }
      node.deleted = true;
      return true;
  }
}

/** Applies the step to the store. Returns false if the store rejected it. */
function actual(store: Store, serviceId: number, home: number, action: Step): boolean {
  const uuid = uuidOf(action.key);
  const place = action.kind === "place" && action.host === "host";
  try {
    switch (action.kind) {
      case "create instance":
        store.instances.create(newInstance(uuid));
        return true;
      case "save": {
        const options = action.expected.length > 0 ? { expectedTaskState: action.expected } : {};
        store.instances.save(uuid, { taskState: action.to }, options);
        return true;
      }
      case "place":
        store.instances.save(
          uuid,
          place ? { host: "home", node: "home", computeId: home } : { host: null, node: null, computeId: null },
        );
        return true;
      case "destroy":
        store.instances.destroy(uuid, { guardHostIsNull: action.guarded });
        return true;
      case "create node":
        store.computeNodes.create({
          host: action.host,
          serviceId,
          uuid,
          hypervisorHostname: action.name,
          resources: RESOURCES,
        });
        return true;
      case "destroy node": {
        const id = store.computeNodes.getByUuid(uuid, { readDeleted: true })?.id ?? -1;
        return store.computeNodes.destroy(id, action.host);
      }
    }
  } catch (error) {
    if (error instanceof ConductorError) {
      return false;
    }
    throw error;
  }
}

describe("the store behaves like the model of its rules", () => {
  property([fc.array(step, { maxLength: 60 })], { numRuns: 60 })(
    "1.1, 1.3, 1.4 every step is accepted or rejected as by the model, and the rows match",
    async (steps) => {
      const { store } = await memoryStore();
      const service = addService(store, "home");
      const home = store.computeNodes.create({
        host: "home",
        serviceId: service.id,
        uuid: uuidOf(99),
        hypervisorHostname: "home",
        resources: RESOURCES,
      });
      const model: Model = { instances: new Map(), nodes: new Map() };
      for (const action of steps) {
        const before = JSON.stringify(store.instances.byFilters({}));
        const accepted = expected(model, action);
        expect(actual(store, service.id, home.id, action)).toBe(accepted);
        if (!accepted) {
          expect(JSON.stringify(store.instances.byFilters({}))).toBe(before);
        }
      }
      for (const [number, { task, placed, deleted }] of model.instances) {
        const row = store.instances.get(uuidOf(number), { readDeleted: true });
        expect(row).toMatchObject({ taskState: task, host: placed ? "home" : null });
        expect(row?.deleted).toBe(deleted ? row?.id : 0);
      }
      for (const [number, { deleted, ...row }] of model.nodes) {
        const node = store.computeNodes.getByUuid(uuidOf(number), { readDeleted: true });
        expect(node).toMatchObject({ host: row.host, hypervisorHostname: row.name });
        expect(node?.deleted).toBe(deleted ? node?.id : 0);
      }
      store.close();
    },
  );
});

describe("invalid values are never stored", () => {
  const junk = fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withSparseArray: true }),
    fc.constantFrom(
      "a\0b",
      "\ud800",
      Number.NaN,
      Number.POSITIVE_INFINITY,
      2 ** 60,
      -1,
      1.5,
      undefined,
      {},
      [],
      "x".repeat(300),
    ),
  );
  const field = fc.constantFrom(
    "displayName",
    "vcpus",
    "vmState",
    "taskState",
    "powerState",
    "flavor",
    "metadata",
    "systemMetadata",
    "tags",
    "migrationContext",
    "locked",
    "progress",
    "launchedAt",
    "noSuchField",
    "__proto__",
    "deleted",
    "id",
  );

  property([field, junk], { numRuns: 150 })(
    "a save is rejected, or its values can be read back",
    async (name, value) => {
      const { store } = await memoryStore();
      store.instances.create(newInstance(uuidOf(1)));
      const before = store.instances.get(uuidOf(1));
      const changes = Object.fromEntries([[name, value]]);
      let after: unknown;
      try {
        after = Object.entries(store.instances.save(uuidOf(1), changes)).find(([each]) => each === name)?.[1];
      } catch (error) {
        expect(error).toBeInstanceOf(ConductorError);
        expect(store.instances.get(uuidOf(1))).toEqual(before);
        return;
      }
      expect(JSON.stringify(after)).toBe(JSON.stringify(value));
    },
  );
});
