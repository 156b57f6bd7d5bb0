import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import type { ComputeNode } from "../../records/index.js";
import { NovaRpcError } from "../errors.js";
import { listedObjects, type NovaObject, objectOf } from "../objects/primitive.js";
import {
  builtObject,
  deletedId,
  type FieldCodec,
  fieldsOf,
  nullable,
  number,
  type RecordObject,
  readOnly,
  readRecord,
  rowTime,
  stringRecord,
  text,
  timestamp,
  unknownToNova,
  writeRecord,
} from "../objects/record-object.js";
import { type CallTools, type ConductorCalls, nullIf } from "./nova-conductor.js";

/** The record's list of [arch, hypervisor, vm_mode]. Nova has a plain list of objects here, not a list object. */
const hypervisorSpecs: FieldCodec<ComputeNode["supportedHvSpecs"]> = {
  read: (value) => {
    if (value === undefined || value === null) {
      return [];
    }
    if (!Array.isArray(value)) {
      throw new NovaRpcError("MalformedObject", "expected a list of HVSpec");
    }
    return value.map((item) => {
      const { arch, hv_type, vm_mode } = objectOf(item, "HVSpec")["nova_object.data"];
      return [String(arch), String(hv_type), String(vm_mode)] as const;
    });
  },
  // The conductor rejects the complete node for one unknown enumeration value.
  write: (value, profile) =>
    value
      .filter(([, hypervisor, vmMode]) => HYPERVISOR_TYPES.has(hypervisor) && VM_MODES.has(vmMode))
      .map(([arch, hv_type, vm_mode]) => builtObject("HVSpec", { arch, hv_type, vm_mode }, profile)),
};

/** nova/objects/fields.py, HVType. */
const HYPERVISOR_TYPES: ReadonlySet<string> = new Set(
  "baremetal bhyve docker fake hyperv ironic kqemu kvm lxc lxd openvz parallels vz qemu test uml vbox vmware xen zvm prsm".split(
    " ",
  ),
);

/** nova/objects/fields.py, VMMode. */
const VM_MODES: ReadonlySet<string> = new Set(["hvm", "xen", "uml", "exe"]);

/** @internal */
export const COMPUTE_NODE_OBJECT: RecordObject<ComputeNode> = {
  name: "ComputeNode",
  fields: {
    id: number(),
    uuid: text(),
    host: text(""),
    serviceId: nullable(number()),
    hypervisorHostname: text(""),
    mapped: number(0),
    deleted: deletedId,
    createdAt: rowTime,
    updatedAt: readOnly(nullable(timestamp)),
    hostIp: nullable(text()),
    vcpus: number(0),
    memoryMb: number(0),
    localGb: number(0),
    vcpusUsed: number(0),
    memoryMbUsed: number(0),
    localGbUsed: number(0),
    freeRamMb: number(0),
    freeDiskGb: number(0),
    runningVms: number(0),
    currentWorkload: number(0),
    diskAvailableLeast: nullable(number()),
    hypervisorType: text(""),
    hypervisorVersion: number(0),
    cpuInfo: text(""),
    supportedHvSpecs: hypervisorSpecs,
    // A conductor replaces 0 and null with its own configuration.
    cpuAllocationRatio: number(0),
    ramAllocationRatio: number(0),
    diskAllocationRatio: number(0),
    stats: stringRecord,
    metrics: text(""),
    numaTopology: nullable(text()),
    // Devices are counted in Placement only.
    pciDevicePools: unknownToNova<ComputeNode["pciDevicePools"]>(() => []),
  },
};

/** Nova also raises this instead of returning an empty list. */
const ABSENT = "ComputeHostNotFound";

export const COMPUTE_NODE_CALLS = {
  compute_nodes_by_host: ({ host }, tools) => listed(tools, "get_all_by_host", host),
  compute_nodes_by_uuids: ({ uuids }, tools) => listed(tools, "get_all_by_uuids", uuids),
  // Nova's query also returns names that contain the requested one.
  compute_nodes_by_hypervisor_hostname: async ({ hypervisorHostname }, tools) => sharers(hypervisorHostname, tools),
  compute_node_get_by_uuid: ({ uuid }, tools) => found(tools, "get_by_uuid", [uuid], { deleted: true }),
  compute_node_get_by_host_and_node: ({ host, node }, tools) => found(tools, "get_by_host_and_nodename", [host, node]),
  compute_node_create: async ({ host, serviceId, uuid, hypervisorHostname, resources, exclusive = false }, tools) => {
    const rejectDuplicate = (other: ComputeNode): never => {
      throw new ConductorError("DuplicateRecord", `host ${other.host} has a compute node ${hypervisorHostname}`, {
        takenBy: other.host,
      });
    };
    const isOther = (node: ComputeNode): boolean => exclusive && node.host !== host;
    const before = exclusive ? (await sharers(hypervisorHostname, tools)).find(isOther) : undefined;
    if (before !== undefined) {
      rejectDuplicate(before);
    }
    const values = { host, serviceId, uuid, hypervisorHostname, mapped: 0, ...resources };
    const node = writeRecord(COMPUTE_NODE_OBJECT, values, tools.nova.profile);
    const made = record((await tools.nova.act(node, "create", {}, tools.options)).object, tools);
    // If two hosts start at the same moment, neither finds the other's node; the later node is removed.
    const older = exclusive
      ? (await sharers(hypervisorHostname, tools)).find((other) => isOther(other) && other.id < made.id)
      : undefined;
    if (older !== undefined) {
      await destroy(made, tools);
      rejectDuplicate(older);
    }
    return made;
  },
  compute_node_save: async ({ id, changes, undelete = false }, tools) => {
    const { profile } = tools.nova;
    const data = {
      id,
      ...fieldsOf(COMPUTE_NODE_OBJECT, changes, profile),
      ...(undelete ? { deleted: false, deleted_at: null } : {}),
    };
    const node = builtObject(
      "ComputeNode",
      data,
      profile,
      Object.keys(data).filter((field) => field !== "id"),
    );
    return record((await tools.nova.act(node, "save", {}, { ...tools.options, deleted: undelete })).object, tools);
  },
  compute_node_destroy: ({ id, host }, tools) => destroy({ id, host }, tools),
} satisfies Partial<ConductorCalls>;

async function listed(tools: CallTools, method: string, key: unknown): Promise<ComputeNode[]> {
  const list = await nullIf(tools.nova.ask("ComputeNodeList", method, [key], {}, tools.options), ABSENT);
  return list === null ? [] : listedObjects(list, "ComputeNodeList").map((node) => record(node, tools));
}

async function sharers(name: string, tools: CallTools): Promise<ComputeNode[]> {
  const nodes = await listed(tools, "get_by_hypervisor", name);
  return nodes.filter((node) => node.hypervisorHostname === name);
}

async function found(
  tools: CallTools,
  method: string,
  args: readonly unknown[],
  more: { readonly deleted?: boolean } = {},
): Promise<ComputeNode | null> {
  const { nova, options } = tools;
  const node = await nullIf(nova.ask("ComputeNode", method, args, {}, { ...options, ...more }), ABSENT);
  return node === null ? null : record(objectOf(node, "ComputeNode"), tools);
}

async function destroy({ id, host }: Pick<ComputeNode, "id" | "host">, { nova, options }: CallTools): Promise<boolean> {
  const node = builtObject("ComputeNode", { id, host }, nova.profile, []);
  try {
    await nova.act(node, "destroy", {}, options);
    return true;
  } catch (error) {
    if (isConductorError(error, "ObjectActionError", "ComputeHostNotFound")) {
      return false;
    }
    throw error;
  }
}

function record(object: NovaObject, { rows }: CallTools): ComputeNode {
  const node = readRecord(COMPUTE_NODE_OBJECT, object);
  rows.noteNode(node);
  return node;
}
