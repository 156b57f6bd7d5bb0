import type { AgentView } from "../context.js";
import { ConfigRejectedError } from "./rejections.js";

/** Spec 2.2 step 1. @throws {ConfigRejectedError} */
export function validateConfig(view: Pick<AgentView, "config">): void {
  if (view.config.compute.maxDiskDevicesToAttach === 0) {
    throw new ConfigRejectedError("max-disk-devices-zero", {
      found: "[compute] max_disk_devices_to_attach is 0, so that no instance could have a disk",
      hint: "set it to -1 (no limit) or to 1 and more",
      records: { "[compute] max_disk_devices_to_attach": "0" },
    });
  }
}
