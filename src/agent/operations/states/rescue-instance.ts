import { LOCAL_DISKS } from "../../../virt/local-disks.js";
import { guestFlow } from "../flow/guest-flow.js";
import { imageMeta } from "../flow/guest-options.js";
import { record } from "./state-changes.js";

/** The guest is booted from another image, or its own, its own disk beside. */
export const RESCUE_INSTANCE = guestFlow("rescue_instance", {
  rescue: async ({ services, instance, request: { rescueImageRef } }) => {
    const image = imageMeta(instance, rescueImageRef);
    await services.context.driver.rescue(instance, { image, network: [], blockDevices: LOCAL_DISKS });
  },
  record: ({ services, instance }) => record(services, instance, "rescued", "rescuing"),
});
