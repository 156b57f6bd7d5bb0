import { ConductorError } from "../../conductor-client/errors.js";
import { type Service, USAGE_AUDIT } from "../../records/index.js";
import { listedObjects, type NovaObject, objectOf, overlaid } from "../objects/primitive.js";
import {
  builtObject,
  flag,
  nullable,
  number,
  type RecordObject,
  readOnly,
  readRecord,
  rowTime,
  text,
  timestamp,
  writeRecord,
} from "../objects/record-object.js";
import type { CallTools, ConductorCalls } from "./nova-conductor.js";

/** @internal */
export const SERVICE_OBJECT: RecordObject<Service> = {
  name: "Service",
  fields: {
    id: number(),
    uuid: text(),
    host: text(),
    binary: text(),
    topic: text(""),
    reportCount: number(0),
    lastSeenUp: readOnly(nullable(timestamp)),
    disabled: readOnly(flag(false)),
    disabledReason: readOnly(nullable(text())),
    forcedDown: readOnly(flag(false)),
    version: number(0),
    // The API derives it from the aggregates; the agent does not use it.
    availabilityZone: readOnly(text("")),
    createdAt: rowTime,
    updatedAt: readOnly(nullable(timestamp)),
  },
};

export const SERVICE_CALLS = {
  service_get_by_host: async ({ host, binary }, tools) => {
    const known = tools.rows.freshService(host, binary);
    if (known !== undefined) {
      return readRecord(SERVICE_OBJECT, known);
    }
    const requestedAt = tools.now();
    const found = await tools.nova.ask("Service", "get_by_host_and_binary", [host, binary], {}, tools.options);
    return found === null ? null : noted(objectOf(found, "Service"), tools, requestedAt);
  },
  // Without a version the row would have version 0, and the cloud would consider its oldest compute to be of version 0.
  service_create: async ({ host, binary, topic, version }, tools) => {
    const values = { host, binary, topic, reportCount: 0, version };
    const service = writeRecord(SERVICE_OBJECT, values, tools.nova.profile);
    const requestedAt = tools.now();
    return noted((await tools.nova.act(service, "create", {}, tools.options)).object, tools, requestedAt);
  },
  service_update_version: ({ id, version }, tools) => saved(id, () => ({ version }), tools),
  // Only a greater count updates the time of the last heartbeat.
  service_report_state: async ({ id }, tools) => {
    await saved(
      id,
      ({ report_count: count }) => ({ report_count: (typeof count === "number" ? count : 0) + 1 }),
      tools,
    );
    return null;
  },
  service_disable: async ({ id, reason }, tools) => {
    // Read again: an operator may have disabled the service since, with a reason that must be preserved.
    const { host, binary } = tools.rows.service(id)?.["nova_object.data"] ?? {};
    const found = await tools.nova.ask("Service", "get_by_host_and_binary", [host, binary], {}, tools.options);
    if (found === null) {
      throw new ConductorError("ServiceNotFound", `service ${id} no longer exists`);
    }
    const service = noted(objectOf(found, "Service"), tools);
    return service.disabled ? service : saved(id, () => ({ disabled: true, disabled_reason: reason }), tools);
  },
  service_minimum_version: async ({ binary }, { nova, options }) => {
    const version = await nova.ask("Service", "get_minimum_version", [binary], {}, options);
    return typeof version === "number" ? version : 0;
  },
  services_by_hypervisor_type: async ({ hypervisorType }, { nova, options }) => {
    const found = await nova.ask("ServiceList", "get_all_computes_by_hv_type", [hypervisorType], {}, options);
    return listedObjects(found, "ServiceList")
      .map((service) => readRecord(SERVICE_OBJECT, service))
      .sort((one, other) => one.id - other.id);
  },
} satisfies Partial<ConductorCalls>;

/** Saves the complete object with its version, which a partial save would reset. */
async function saved(
  id: number,
  changesOf: (data: NovaObject["nova_object.data"]) => Readonly<Record<string, unknown>>,
  tools: CallTools,
): Promise<Service> {
  const known = tools.rows.service(id);
  if (known === undefined) {
    throw new ConductorError("ServiceNotFound", `service ${id} has not been read by this agent`);
  }
  const requestedAt = tools.now();
  const changes = changesOf(known["nova_object.data"]);
  const changed = overlaid(known, changes);
  // Cached even if the response is lost, since the row may have the value.
  tools.rows.noteService(changed);
  const unsaved = { ...changed, "nova_object.changes": Object.keys(changes) };
  return noted((await tools.nova.act(unsaved, "save", {}, tools.options)).object, tools, requestedAt);
}

/** @param requestedAt default: the row is not used as a fresh one */
function noted(service: NovaObject, { rows }: CallTools, requestedAt?: number): Service {
  rows.noteService(service, requestedAt);
  return readRecord(SERVICE_OBJECT, service);
}

interface Audit {
  readonly host: string;
  readonly begin: number;
  readonly end: number;
}

/** Nova's computes do this themselves. Nova saves no progress of an audit that did not finish. */
export const USAGE_AUDIT_CALLS = {
  usage_audit_begin: async (audit, tools) => {
    const { nova, options } = tools;
    const [begin, end] = [iso(audit.begin), iso(audit.end)];
    const found = await nova.ask("TaskLog", "get", [USAGE_AUDIT, begin, end, audit.host], {}, options);
    if (found !== null && objectOf(found, "TaskLog")["nova_object.data"].state === "DONE") {
      return null;
    }
    const window = { host: audit.host };
    const active = await nova.ask("InstanceList", "get_active_by_window_joined", [begin, end], window, options);
    const items = listedObjects(active, "InstanceList").length;
    if (found === null) {
      const message = "Instance usage audit started...";
      await nova.act(taskLog(audit, { task_items: items, message }, tools), "begin_task", {}, options);
    }
    return items;
  },
  usage_audit_end: async ({ errors, message, ...audit }, tools) => {
    await tools.nova.act(taskLog(audit, { errors, message }, tools), "end_task", {}, tools.options);
    return null;
  },
} satisfies Partial<ConductorCalls>;

function taskLog({ host, begin, end }: Audit, fields: Readonly<Record<string, unknown>>, { nova }: CallTools) {
  const key = { task_name: USAGE_AUDIT, host, period_beginning: iso(begin), period_ending: iso(end) };
  return builtObject("TaskLog", { ...key, ...fields }, nova.profile);
}

const iso = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;
