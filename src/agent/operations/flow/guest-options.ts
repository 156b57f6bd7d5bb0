import { type Instance, imagePropertiesOf } from "../../../records/index.js";
import { LOCAL_DISKS } from "../../../virt/local-disks.js";
import type { DestroyOptions, ImageMeta } from "../../../virt/types.js";

/**
 * The image as the API noted it in the instance's system metadata; there is no image service to ask.
 * @param imageRef default: the instance's own
 */
export function imageMeta(instance: Instance, imageRef = instance.imageRef): ImageMeta {
  const properties = imagePropertiesOf(instance);
  const { disk_format, container_format, min_disk, min_ram, name } = properties;
  return {
    id: imageRef,
    name: name ?? imageRef,
    diskFormat: disk_format ?? "raw",
    containerFormat: container_format ?? "bare",
    minDisk: Number.parseInt(min_disk ?? "0", 10) || 0,
    minRam: Number.parseInt(min_ram ?? "0", 10) || 0,
    properties,
  };
}

export function destroyOptions(destroyDisks: boolean): DestroyOptions {
  return {
    network: [],
    blockDevices: LOCAL_DISKS,
    destroyDisks,
  };
}
