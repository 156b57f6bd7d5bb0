import type { Random } from "../../runtime/cryptography.js";
import type { VolumeImage, VolumeImages } from "../block-storage/volume-images.js";
import type { Credentials } from "../credentials.js";
import { sees } from "./api/policy.js";
import { EMPTY_CONTENT, type Image, PLAIN } from "./image.js";
import type { ImageTable, MemberTable } from "./image-tables.js";

interface ImageTables {
  readonly table: ImageTable;
  readonly members: MemberTable;
}

/** Creates the Image service's interface for Block Storage. It shares the caller's transaction. */
export function createVolumeImages({ table, members }: ImageTables, random: Random): VolumeImages {
  const isVisible = (image: Image, caller: Credentials): boolean => {
    const isMember = caller.projectId !== null && members.get(image.id, caller.projectId) !== undefined;
    return sees(caller, image, isMember);
  };
  return {
    find: (id, caller): VolumeImage | undefined => {
      const image = table.get(id);
      return image && isVisible(image, caller) ? image : undefined;
    },
    named: (name, caller) => table.list().filter((image) => image.name === name && isVisible(image, caller)),
    add: ({ projectId, isProtected, ...image }) => {
      const id = random.uuid();
      table.add(id, { ...PLAIN, ...image, protected: isProtected, owner: projectId });
      return id;
    },
    complete: (id) => void table.change(id, ["queued"], { status: "active", ...EMPTY_CONTENT }),
    remove: (id) => table.remove(id),
  };
}
