import { ConductorError } from "../../../conductor-client/errors.js";
import type { BlockDevice, Instance } from "../../../records/index.js";
import { chooseDeviceNames } from "../../volumes/device-names.js";
import { demand } from "../flow/admission.js";
import type { Call, DemandingFlow, OperationServices } from "../flow/contract.js";
import { recordingFault } from "../flow/error-wrappers.js";
import { runSteps, stepList } from "../flow/step-list.js";

interface Reservation {
  readonly services: OperationServices;
  readonly instance: Instance;
  readonly devices: readonly BlockDevice[];
  readonly device: BlockDevice;
  deviceName: string;
}

const STEPS = stepList<Reservation>("reserve_block_device_name", {
  check: assertAttachable,
  choose_name: async (reservation) => {
    const { services, instance, devices, device } = reservation;
    // The name in the new record is the one that the user requests.
    const isChosen = (other: BlockDevice) => other !== device && other.deviceName !== null;
    for (const [named, address] of chooseDeviceNames(instance, devices, isChosen)) {
      await services.volumes.save(named, address);
      if (named === device) {
        reservation.deviceName = address.deviceName;
      }
    }
  },
});

/** Spec 6.12 "attach", before the API reserves the volume. A failure changes no record. */
export const RESERVE_BLOCK_DEVICE_NAME: DemandingFlow<"reserve_block_device_name"> = {
  steps: [STEPS],
  handle: reserveName,
};

async function reserveName(call: Call<"reserve_block_device_name">): Promise<string> {
  const { services, request, caller } = call;
  return recordingFault(services, request.instanceUuid, async () => {
    const { instance } = await demand(services, call, request);
    caller.assertCallerWaiting();
    const devices = await services.volumes.devices(instance);
    const device = devices.find(({ uuid }) => uuid === request.blockDeviceUuid);
    if (device === undefined) {
      const { blockDeviceUuid: uuid } = request;
      throw new ConductorError("BlockDeviceNotFound", `block device ${uuid} was not found`, { uuid });
    }
    const reservation: Reservation = { services, instance, devices, device, deviceName: "" };
    await runSteps(services, STEPS, reservation);
    return reservation.deviceName;
  });
}

/** @throws VolumeTaggedAttachNotSupported, MultiattachNotSupportedByVirtDriver, TooManyDiskDevices */
async function assertAttachable({ services, devices, device: { tag, volumeId } }: Reservation): Promise<void> {
  const { capabilities } = services.driver;
  if (tag !== null && !capabilities.supportsTaggedAttachVolume) {
    throw new ConductorError(
      "VolumeTaggedAttachNotSupported",
      "Tagged volume attachment is not supported for this server instance.",
    );
  }
  if (volumeId !== null && !capabilities.supportsMultiattach) {
    const { isMultiattach } = await services.volumes.service.getVolume(volumeId);
    if (isMultiattach) {
      throw new ConductorError(
        "MultiattachNotSupportedByVirtDriver",
        `Volume ${volumeId} has 'multiattach' set, which is not supported for this instance.`,
      );
    }
  }
  const max = services.config.compute.maxDiskDevicesToAttach;
  if (max >= 0 && devices.length > max) {
    throw new ConductorError(
      "TooManyDiskDevices",
      `The maximum allowed number of disk devices (${max}) to attach to a single instance has been exceeded.`,
    );
  }
}
