import type { Instance } from "../../../records/index.js";
import { LOCAL_DISKS } from "../../block-devices.js";
import { operation } from "../flow/error-wrappers.js";
import { imageMeta } from "../flow/guest-options.js";
import { runSteps, stepList } from "../flow/step-list.js";
import type { OperationParts } from "../parts.js";
import { record } from "./state-changes.js";

interface RescueProgress {
  readonly parts: OperationParts;
  readonly instance: Instance;
  readonly imageRef: string;
}

/** The guest is booted from another image, its own disk beside. */
export const RESCUE_INSTANCE = stepList<RescueProgress>("rescue_instance", {
  rescue: async ({ parts, instance, imageRef }) => {
    const image = imageMeta(instance, imageRef);
    await parts.context.driver.rescue(instance, { image, network: [], blockDevices: LOCAL_DISKS });
  },
  record: ({ parts, instance }) => record(parts, instance, "rescued", "rescuing"),
});

/** @param imageRef undefined: the instance's own. @throws what the driver throws, UnexpectedTaskState */
export async function rescueInstance(
  parts: OperationParts,
  instance: Instance,
  imageRef: string | undefined,
  requestId: string,
): Promise<void> {
  const named = { instanceUuid: instance.uuid, event: "compute_rescue_instance", requestId };
  await operation(parts.context, named, async () => {
    await runSteps(parts, RESCUE_INSTANCE, { parts, instance, imageRef: imageRef ?? instance.imageRef });
  });
}
