import { type Instance, imagePropertiesOf } from "../../records/index.js";
import { isoSeconds } from "../http/times.js";
import type { Store } from "../store/store.js";
import { BASE, type Image } from "./images.js";

/**
 * What shelving has uploaded (spec 6.6). Nova deletes it with the server, and when the server is unshelved: it is there as
 * long as its server is shelved, and kept nowhere else.
 */
export function shelvedSnapshots(store: Pick<Store, "instances">): readonly Image[] {
  return store.instances.byFilters({ vmStates: ["shelved", "shelved_offloaded"], deleted: false }).flatMap(snapshotOf);
}

function snapshotOf(instance: Instance): readonly Image[] {
  const { uuid, displayName, imageRef, projectId, userId, flavor, systemMetadata, createdAt } = instance;
  const { shelved_image_id: id, shelved_at: at } = systemMetadata;
  if (id === undefined) {
    return [];
  }
  return [
    {
      id,
      name: `${displayName}-shelved`,
      size: BASE.size,
      virtualSize: BASE.virtualSize,
      minDisk: flavor.rootGb,
      createdAt: isoSeconds(Number(at ?? createdAt)),
      owner: projectId,
      properties: {
        ...imagePropertiesOf(instance),
        image_type: "snapshot",
        image_state: "available",
        image_location: "snapshot",
        base_image_ref: imageRef,
        instance_uuid: uuid,
        user_id: userId,
        owner_id: projectId,
      },
    },
  ];
}
