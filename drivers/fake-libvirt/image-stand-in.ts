import { bytesOf, ImageServiceNotFound, type Instance, type SnapshotOptions } from "../../src/virt/index.js";

/**
 * Stores a line that says whose disk the image stands for: there is nothing on it. Where there is no Image service the
 * image stays without bytes, which no guest of this driver misses.
 */
export async function storeStandIn({ uuid }: Pick<Instance, "uuid">, upload: SnapshotOptions["upload"]): Promise<void> {
  try {
    await upload(bytesOf(`the disk of ${uuid}, which fake-libvirt emulates\n`));
  } catch (error) {
    if (!(error instanceof ImageServiceNotFound)) {
      throw error;
    }
  }
}
