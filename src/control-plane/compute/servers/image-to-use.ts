import type { Flavor } from "../../../records/index.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest } from "../api/fault.js";

const GIB = 1024 ** 3;

/**
 * What a server notes of an image that it is made of, or rescued with.
 * @param flavor the server's, where the image becomes its root disk
 * @throws {Fault} 400
 */
export function imageToUse(
  { images }: Pick<ComputeDeps, "images">,
  { credentials }: Pick<Call, "credentials">,
  id: string,
  unknown: string,
  flavor?: Flavor,
): Readonly<Record<string, string>> {
  const image = images.find(id, credentials);
  if (image === undefined) {
    throw badRequest(unknown);
  }
  if (image.status !== "active") {
    throw badRequest(`Image ${id} is not active.`);
  }
  if (flavor) {
    assertFlavorFits(flavor, image);
  }
  return image.noted;
}

/** What an image needs, a flavor has to have. @throws {Fault} 400 */
export function assertFlavorFits(
  { memoryMb, rootGb }: Pick<Flavor, "memoryMb" | "rootGb">,
  image: { readonly minRam: number; readonly minDisk: number; readonly size: number | null },
): void {
  if (memoryMb < image.minRam) {
    throw badRequest("Flavor's memory is too small for requested image.");
  }
  // A flavor without a root disk takes the image's size.
  const disk = rootGb * GIB;
  if (disk === 0) {
    return;
  }
  if ((image.size ?? 0) > disk) {
    const sizes = `Flavor disk is ${disk} bytes, image is ${image.size} bytes.`;
    throw badRequest(`Flavor's disk is too small for requested image. ${sizes}`);
  }
  if (image.minDisk * GIB > disk) {
    const sizes = `Flavor disk is ${disk} bytes, minimum size is ${image.minDisk * GIB} bytes.`;
    throw badRequest(`Flavor's disk is smaller than the minimum size specified in image metadata. ${sizes}`);
  }
}
