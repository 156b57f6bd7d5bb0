import type { ComputeNode } from "../../records/index.js";
import {
  deletedId,
  type FieldCodec,
  nullable,
  number,
  readOnly,
  rowTime,
  stringRecord,
  text,
  time,
  unknownToNova,
} from "./field-codec.js";
import { MalformedObject, objectOf } from "./primitive.js";
import { builtObject, type RecordObject } from "./record-object.js";

/** Lists of [arch, hypervisor, vm_mode] of the record; a list of objects, not a list object, in Nova. */
const hypervisorSpecs: FieldCodec<ComputeNode["supportedHvSpecs"]> = {
  read: (value) => {
    if (value === undefined || value === null) {
      return [];
    }
    if (!Array.isArray(value)) {
      throw new MalformedObject("expected a list of HVSpec");
    }
    return value.map((item) => {
      const { arch, hv_type, vm_mode } = objectOf(item, "HVSpec")["nova_object.data"];
      return [String(arch), String(hv_type), String(vm_mode)] as const;
    });
  },
  // The conductor refuses a whole node for one word that is not Nova's.
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
/** VMMode there. */
const VM_MODES: ReadonlySet<string> = new Set(["hvm", "xen", "uml", "exe"]);

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
    updatedAt: readOnly(nullable(time)),
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
    // A conductor replaces 0 and null by its own configuration.
    cpuAllocationRatio: number(0),
    ramAllocationRatio: number(0),
    diskAllocationRatio: number(0),
    stats: stringRecord,
    metrics: text(""),
    numaTopology: nullable(text()),
    // Devices are counted in Placement alone.
    pciDevicePools: unknownToNova<ComputeNode["pciDevicePools"]>(() => []),
  },
};
