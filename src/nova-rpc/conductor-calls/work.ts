import { ConductorError } from "../../conductor-client/errors.js";
import { CLUSTER_METHODS } from "../../conductor-client/methods/cluster.js";
import { OPERATOR_METHODS } from "../../conductor-client/methods/conductor.js";
import { HOST_METHODS } from "../../conductor-client/methods/session.js";
import type { RetryInfo, Selection } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import type { RpcRequest } from "../messages/rpc.js";
import { overlaid } from "../objects/primitive.js";
import { builtObject } from "../objects/record-object.js";
import { toSelectionObjects } from "../objects/selection.js";
import { COMPUTE_TOPIC, hostQueue, topicOfMethod } from "../transport/topology.js";
import { ACTION_CALLS } from "./actions.js";
import { getMessageArgument, imageToSend, instanceToSend } from "./compute-messages.js";
import { INSTANCE_CALLS, saveInstance } from "./instances.js";
import type { CallTools, ConductorCalls } from "./nova-conductor.js";

/** `long_rpc_timeout` in milliseconds, and the maximum silence of a pending call in seconds. */
export const LONG_CALL = { timeout: 1_800_000, monitor: 60 };

/** Methods called by administrators, never by an agent. */
const OPERATORS_METHODS = { ...OPERATOR_METHODS, ...HOST_METHODS, ...CLUSTER_METHODS };

const OPERATOR_CALLS = Object.fromEntries(
  Object.keys(OPERATORS_METHODS).map((method) => [
    method,
    () => unavailable(`${method}: not available with a real Nova; use its own nova-manage`),
  ]),
) as Record<keyof typeof OPERATORS_METHODS, () => Promise<never>>;

async function unavailable(reason: string): Promise<never> {
  throw new ConductorError("ConductorError", reason);
}

export const WORK_CALLS = {
  build_instances: async ({ instanceUuid, alternates, retry, reason }, tools) => {
    // A conductor that finds no further host takes the cause from the fault.
    await addFault(instanceUuid, reason, tools);
    await saveInstance({ uuid: instanceUuid, changes: { launchedOn: null } }, tools);
    const instance = await instanceToSend(instanceUuid, tools);
    await tools.nova.castTask("build_instances", "1.19", {
      instances: [instance],
      image: imageToSend(instance, tools),
      filter_properties: filterProperties(retry, reason, tools),
      admin_password: getMessageArgument("admin_password", tools),
      injected_files: getMessageArgument("injected_files", tools) ?? [],
      requested_networks: getMessageArgument("requested_networks", tools),
      security_groups: getMessageArgument("security_groups", tools) ?? [],
      request_spec: getMessageArgument("request_spec", tools),
      host_lists: [left(alternates, tools)],
    });
    return null;
  },
  migrate_server: async ({ instanceUuid, alternates, retry, failure }, tools) => {
    await addFault(instanceUuid, failure.message, tools);
    const instance = overlaid(await instanceToSend(instanceUuid, tools), { new_flavor: null });
    const { eventId, message, traceback } = failure;
    const request = {
      instance,
      scheduler_hint: { filter_properties: filterProperties(retry, message, tools) },
      live: false,
      rebuild: false,
      flavor: getMessageArgument("flavor", tools),
      block_migration: null,
      disk_over_commit: null,
      reservations: null,
      clean_shutdown: getMessageArgument("clean_shutdown", tools) ?? true,
      request_spec: getMessageArgument("request_spec", tools),
      host_list: left(alternates, tools),
    };
    try {
      await tools.nova.callTask("migrate_server", "1.20", request, LONG_CALL);
    } finally {
      if (eventId !== null) {
        const event = {
          eventId,
          result: "Error" as const,
          details: message,
          ...(traceback === null ? {} : { traceback }),
        };
        await ACTION_CALLS.instance_action_event_finish(event, tools);
      }
    }
    return null;
  },
  // Sends the deletion to the instance's present host, as the API would.
  delete_instance: async ({ instanceUuid }, tools) => {
    const instance = await instanceToSend(instanceUuid, tools);
    const { host } = instance["nova_object.data"];
    if (typeof host === "string") {
      const bdms = builtObject("BlockDeviceMappingList", { objects: [] }, tools.nova.profile, []);
      await tools.rpc.cast(await computeMessage(host, "terminate_instance", { instance, bdms }, tools));
    }
    return null;
  },
  online_data_migrations: async () => [],
  // A broker does not reveal the messages in its queues. Only an operator ends an accepted operation.
  instance_in_hand: async () => true,
  stop_instance: async ({ instanceUuid }, tools) => {
    const save = { uuid: instanceUuid, changes: { taskState: "powering-off", progress: 0 } as const };
    await INSTANCE_CALLS.instance_save({ ...save, expectedTaskState: [null] }, tools);
    const args = [instanceUuid, "stop"];
    await tools.nova.ask(
      "InstanceAction",
      "action_start",
      args,
      { want_result: false },
      { ...tools.options, writes: true },
    );
    const instance = await instanceToSend(instanceUuid, tools);
    const host = String(instance["nova_object.data"].host);
    await tools.rpc.cast(await computeMessage(host, "stop_instance", { instance, clean_shutdown: true }, tools));
    return null;
  },
  // No networks are attached under Nova: a server with networks is not built here.
  instance_ports: async () => [],
  vifs_plugged: async () => null,
  // Servers with volumes are not built here under Nova.
  block_devices: async () => [],
  block_device_save: () => unavailable("block devices are not written under a real Nova"),
  block_device_destroy: () => unavailable("block devices are not written under a real Nova"),
  volume_access: () => unavailable("a real Nova gives no access to Block Storage"),
  report_bridges: async () => null,
  sync_instance_info: async ({ host, instanceUuids }, { rpc, nova }) => {
    await rpc.fanout({
      topic: "scheduler",
      method: "sync_instance_info",
      version: "4.2",
      args: { host_name: host, instance_uuids: instanceUuids },
      context: nova.context(),
    });
    return null;
  },
  // Only the broker has the leases, and it does not reveal them.
  host_lease_holder: async () => null,
  placement_access: () => unavailable("a real Nova gives no access to Placement: set [placement] auth_type"),
  image_access: () => unavailable("a real Nova gives no access to the Image service: set [placement] auth_type"),
  ...OPERATOR_CALLS,
} satisfies Partial<ConductorCalls>;

/** Creates a message to the nova-compute of a host, on the topic that all nova-computes of the deployment read. */
export async function computeMessage(
  host: string,
  method: string,
  args: Readonly<Record<string, unknown>>,
  { nova, options }: CallTools,
): Promise<RpcRequest> {
  const preferred = topicOfMethod(method);
  const isRead = preferred === COMPUTE_TOPIC || (await nova.hasAlternateTopic(options));
  const topic = hostQueue(isRead ? preferred : COMPUTE_TOPIC, host);
  return { topic, method, version: "6.0", args, context: nova.context() };
}

async function addFault(uuid: string, message: string, tools: CallTools): Promise<void> {
  await INSTANCE_CALLS.instance_add_fault({ uuid, code: 500, message, host: tools.host }, tools);
}

/** Returns the filter properties of the message, with the attempted hosts and the reason of the failure. */
function filterProperties(retry: RetryInfo, reason: string, tools: CallTools): Readonly<Record<string, unknown>> {
  const came = getMessageArgument("filter_properties", tools);
  const { numAttempts, hosts } = retry;
  return { ...(isObject(came) ? came : {}), retry: { num_attempts: numAttempts, hosts, exc: [reason] } };
}

/** Returns the remaining host selections of the message, unchanged. */
function left(alternates: readonly Selection[], tools: CallTools): readonly unknown[] {
  const uuids = new Set(alternates.map(({ computeNodeUuid }) => computeNodeUuid));
  return toSelectionObjects(getMessageArgument("host_list", tools)).filter(({ "nova_object.data": data }) =>
    uuids.has(String(data.compute_node_uuid)),
  );
}
