import { ConductorError } from "../../conductor-client/errors.js";
import type { InstanceFilters } from "../../conductor-client/methods/records.js";
import type { Flavor, Instance, InstanceChanges, TaskState, VmState } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import { FLAVOR_OBJECT, INSTANCE_OBJECT, JOINED_FIELDS } from "../objects/instance.js";
import { listedObjects, type NovaObject, type ObjectData, objectOf, overlaid } from "../objects/primitive.js";
import type { ReleaseProfile } from "../objects/profile.js";
import { builtObject, fieldsOf, readRecord, writeRecord } from "../objects/record-object.js";
import { assertNotSuperseded } from "./actions.js";
import { type CallTools, type ConductorCalls, nullIf } from "./nova-conductor.js";

/** The flavor fields of Nova, and their names in the record. */
const FLAVORS = { flavor: "flavor", old_flavor: "oldFlavor", new_flavor: "newFlavor" } as const;

const FLAVOR_FIELDS = Object.keys(FLAVORS);

const JOINED = { expected_attrs: JOINED_FIELDS };

/** Fields without which a received instance is no complete record. */
const REQUIRED = ["flavor", "metadata", "system_metadata"];

/** Maximum length of a fault's message. */
const LONGEST_FAULT = 255;

export const INSTANCE_CALLS = {
  instance_get: async ({ uuid, readDeleted = false }, tools) => {
    const messageInstance = tools.scopes.current?.rows.accept("Instance", uuid);
    if (
      messageInstance !== undefined &&
      REQUIRED.every((field) => messageInstance["nova_object.data"][field] !== undefined)
    ) {
      tools.rows.noteInstance(messageInstance);
      return readRecord(INSTANCE_OBJECT, messageInstance);
    }
    const instance = await instanceObject(uuid, tools, readDeleted);
    return instance === null ? null : record(instance, tools);
  },
  instances_by_host: ({ host }, tools) => listed(tools, "get_by_host", [host]),
  instances_by_host_and_node: ({ host, node }, tools) => listed(tools, "get_by_host_and_node", [host, node]),
  instances_by_filters: async ({ filters }, tools) => {
    const lists = await Promise.all(
      novaFilters(filters).map((each) =>
        listed(tools, "get_by_filters", [each], { deleted: filters.deleted !== false }),
      ),
    );
    return lists.flat();
  },
  instance_save: async ({ ofRequest, ...save }, tools) => {
    if (ofRequest !== undefined) {
      await assertNotSuperseded(save.uuid, ofRequest, tools);
    }
    return record(await saveInstance(save, tools), tools);
  },
  instance_destroy: async ({ uuid, guardHostIsNull = false }, tools) => {
    // The save condition includes the host that was read.
    const row = tools.scopes.current?.rows.fresh("Instance", uuid) ?? (await readInstance(uuid, tools));
    const { id, host } = row["nova_object.data"];
    const named = builtObject("Instance", { id, uuid, ...(guardHostIsNull ? {} : { host }) }, tools.nova.profile, []);
    const { object } = await tools.nova.act(named, "destroy", {}, tools.options);
    const destroyed = tools.rows.completed(object) ?? object;
    const found = readRecord(INSTANCE_OBJECT, {
      ...row,
      "nova_object.data": { ...row["nova_object.data"], ...destroyed["nova_object.data"] },
    });
    tools.rows.forgetInstance(uuid);
    return { ...found, deleted: found.id };
  },
  instance_add_fault: async ({ uuid, code, message, details, host }, { nova, options }) => {
    const data = { instance_uuid: uuid, code, message: message.slice(0, LONGEST_FAULT), details: details ?? "", host };
    await nova.act(builtObject("InstanceFault", data, nova.profile), "create", {}, options);
    return null;
  },
} satisfies Partial<ConductorCalls>;

export interface InstanceSave {
  readonly uuid: string;
  readonly changes: InstanceChanges;
  readonly expectedTaskState?: readonly (TaskState | null)[] | undefined;
  readonly expectedVmState?: readonly VmState[] | undefined;
  readonly expectedHost?: string | null | undefined;
}

/** Saves only these fields, and the fields that the sender of the message left for the first save. */
export async function saveInstance(save: InstanceSave, tools: CallTools): Promise<NovaObject> {
  const { uuid, changes, expectedTaskState, expectedVmState, expectedHost } = save;
  if (expectedHost !== undefined) {
    // A save with an expected task state is rejected if the task has changed, so the message's host is recent enough.
    const freshInstance =
      expectedTaskState === undefined ? undefined : tools.scopes.current?.rows.fresh("Instance", uuid);
    assertExpectedHost(freshInstance ?? (await readInstance(uuid, tools)), expectedHost);
  }
  const { profile } = tools.nova;
  const left = tools.scopes.current?.unsaved.get(uuid) ?? {};
  const data = { ...left, ...fieldsOf(INSTANCE_OBJECT, changes, profile) };
  const flavors = changesFlavors(changes, left) ? await allFlavors(uuid, changes, left, tools) : {};
  const instance = builtObject("Instance", { uuid, ...data, ...flavors }, profile, Object.keys(data));
  const expected = {
    ...(expectedTaskState === undefined ? {} : { expected_task_state: expectedTaskState }),
    ...(expectedVmState === undefined ? {} : { expected_vm_state: expectedVmState }),
  };
  const { object } = await tools.nova.act(instance, "save", expected, tools.options);
  tools.scopes.current?.unsaved.delete(uuid);
  // After a save of other tables' fields only, the response does not contain the row.
  const known = object["nova_object.data"].id === undefined ? null : tools.rows.completed(object);
  const complete = known ?? overlaid(await rowOf(uuid, tools), object["nova_object.data"]);
  tools.rows.noteInstance(complete);
  tools.scopes.current?.rows.note(complete);
  return complete;
}

/** Reads the row with all fields of the record; null if there is none. */
async function instanceObject(uuid: string, tools: CallTools, deleted = false): Promise<NovaObject | null> {
  const { nova, options, rows, scopes } = tools;
  const read = nova.ask("Instance", "get_by_uuid", [uuid], JOINED, { ...options, deleted });
  const instance = await nullIf(read, "InstanceNotFound");
  if (instance === null) {
    return null;
  }
  const object = objectOf(instance, "Instance");
  rows.noteInstance(object);
  scopes.current?.rows.note(object);
  return object;
}

/** @throws {InstanceNotFound} */
async function readInstance(uuid: string, tools: CallTools): Promise<NovaObject> {
  const instance = await instanceObject(uuid, tools);
  if (instance === null) {
    throw new ConductorError("InstanceNotFound", `Instance ${uuid} could not be found.`);
  }
  return instance;
}

/** Returns the last known row, with the fields of other tables. @throws {InstanceNotFound} */
async function rowOf(uuid: string, tools: CallTools): Promise<NovaObject> {
  const freshInstance = tools.scopes.current?.rows.fresh("Instance", uuid);
  return (freshInstance && tools.rows.completed(freshInstance)) ?? readInstance(uuid, tools);
}

async function allFlavors(
  uuid: string,
  changes: InstanceChanges,
  left: ObjectData,
  tools: CallTools,
): Promise<ObjectData> {
  const known = tools.rows.completed(named(uuid, tools)) ?? (await readInstance(uuid, tools));
  const messageFlavors = [tools.scopes.current?.args.flavor];
  return flavorsToSave(changes, { ...known["nova_object.data"], ...left }, messageFlavors, tools.nova.profile);
}

const named = (uuid: string, { nova }: CallTools): NovaObject => builtObject("Instance", { uuid }, nova.profile, []);

/** Checks the host before the save, since Nova's save has no such condition. */
function assertExpectedHost({ "nova_object.data": { host } }: NovaObject, expected: string | null): void {
  if ((host ?? null) !== expected) {
    throw new ConductorError("ObjectActionError", `Object action save failed because: host changed`, {
      reason: "host changed",
    });
  }
}

async function listed(
  { nova, options, rows }: CallTools,
  method: string,
  args: readonly unknown[],
  more: { readonly deleted?: boolean } = {},
): Promise<Instance[]> {
  const list = await nova.ask("InstanceList", method, args, JOINED, { ...options, ...more });
  const instances = listedObjects(list, "InstanceList");
  for (const instance of instances) {
    rows.noteInstance(instance);
  }
  return instances.map((instance) => readRecord(INSTANCE_OBJECT, instance));
}

/** Returns no filters if nothing can match. Returns two for task states that include null, which SQL's IN never matches. */
function novaFilters({ uuids, taskStates, ...filters }: InstanceFilters): readonly ObjectData[] {
  // Nova ignores an empty list of uuids.
  if (uuids?.length === 0 || filters.vmStates?.length === 0 || taskStates?.length === 0) {
    return [];
  }
  const common = {
    ...(uuids === undefined ? {} : { uuid: uuids }),
    ...(filters.host === undefined ? {} : { host: filters.host }),
    ...(filters.node === undefined ? {} : { node: exactly(filters.node) }),
    ...(filters.launchedOn === undefined ? {} : { launched_on: exactly(filters.launchedOn) }),
    ...(filters.deleted === undefined ? {} : { deleted: filters.deleted }),
    ...(filters.softDeleted === undefined ? {} : { soft_deleted: filters.softDeleted }),
    ...(filters.cleaned === undefined ? {} : { cleaned: filters.cleaned }),
    ...(filters.vmStates === undefined ? {} : { vm_state: filters.vmStates }),
  };
  if (taskStates === undefined) {
    return [common];
  }
  const named = taskStates.filter((state) => state !== null);
  return [
    ...(named.length > 0 ? [{ ...common, task_state: named }] : []),
    ...(taskStates.includes(null) ? [{ ...common, task_state: null }] : []),
  ];
}

/** Returns a regular expression. Nova matches columns without their own filter with one, in its database's dialect. */
const exactly = (text: string): string => `^${text.replaceAll(/[^\w-]/g, "[$&]")}$`;

function record(instance: NovaObject, { rows }: CallTools): Instance {
  return readRecord(INSTANCE_OBJECT, rows.completed(instance) ?? instance);
}

/** Returns whether a save changes a flavor field. @param left the unsaved fields of the message's sender @internal */
export function changesFlavors(changes: InstanceChanges, left: ObjectData): boolean {
  return Object.entries(FLAVORS).some(([name, field]) => changes[field] !== undefined || left[name] !== undefined);
}

/**
 * Returns all three flavors of an instance. They share one column: a conductor that gets only some of them reads the others,
 * and thereby overwrites the new values with the old ones.
 * @param known the instance's data, as last read
 * @param messageFlavors flavors from the message in Nova's format, with fields that the record does not have
 * @internal
 */
export function flavorsToSave(
  changes: InstanceChanges,
  known: ObjectData,
  messageFlavors: readonly unknown[],
  profile: ReleaseProfile,
): ObjectData {
  const candidates = [...FLAVOR_FIELDS.map((field) => known[field]), ...messageFlavors].filter(isObject);
  const entries = Object.entries(FLAVORS).map(([field, name]) => {
    const flavor = changes[name];
    if (flavor === undefined || flavor === null) {
      return [field, flavor === undefined ? (known[field] ?? null) : null];
    }
    return [
      field,
      candidates.find((candidate) => isSame(candidate, flavor)) ?? writeRecord(FLAVOR_OBJECT, flavor, profile),
    ];
  });
  return Object.fromEntries(entries);
}

function isSame(candidate: unknown, flavor: Flavor): boolean {
  const other = readRecord(FLAVOR_OBJECT, candidate);
  const { extraSpecs, ...rest } = flavor;
  const { extraSpecs: otherSpecs, ...otherRest } = other;
  const isEqual = (one: object, another: object) =>
    Object.keys({ ...one, ...another }).every(
      (key) => (one as Record<string, unknown>)[key] === (another as Record<string, unknown>)[key],
    );
  return isEqual(rest, otherRest) && isEqual(extraSpecs, otherSpecs);
}
