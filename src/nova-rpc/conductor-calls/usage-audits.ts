import { USAGE_AUDIT } from "../../records/index.js";
import { listedObjects, objectOf } from "../objects/primitive.js";
import { builtObject } from "../objects/record-object.js";
import type { CallTools, ConductorCalls } from "./calls.js";

interface Audit {
  readonly host: string;
  readonly begin: number;
  readonly end: number;
}

/** What Nova's computes do by themselves; it keeps no place for one that has not come to its end. */
export const USAGE_AUDIT_CALLS: ConductorCalls<"usage_audit_begin" | "usage_audit_end"> = {
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
};

function taskLog({ host, begin, end }: Audit, fields: Readonly<Record<string, unknown>>, { nova }: CallTools) {
  const key = { task_name: USAGE_AUDIT, host, period_beginning: iso(begin), period_ending: iso(end) };
  return builtObject("TaskLog", { ...key, ...fields }, nova.profile);
}

const iso = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;
