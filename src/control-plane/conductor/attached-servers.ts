import type { Random } from "../../runtime/cryptography.js";
import type { AttachedServers } from "../block-storage/server-volumes.js";
import { newRequestId } from "../http/request.js";
import type { Store } from "../store/store.js";
import { enqueueCast, sendInstanceEvents } from "./agent-messages.js";

/** Creates Block Storage's interface of the servers in the store. */
export function createAttachedServers(store: Store, random: Random): AttachedServers {
  return {
    attachmentOf: (serverId, volumeId) =>
      store.blockDevices.ofVolume(volumeId).find(({ instanceUuid }) => instanceUuid === serverId)?.attachmentId ??
      undefined,
    notify: (instanceUuid, name, tag) => {
      const instance = store.instances.get(instanceUuid);
      if (instance === null) {
        return;
      }
      const requestId = newRequestId(random);
      if (name === "volume-extended") {
        const { userId, projectId } = instance;
        store.actions.start({ action: "extend_volume", instanceUuid, requestId, userId, projectId });
      }
      const bus = { cast: enqueueCast(store) };
      sendInstanceEvents({ store, bus }, instance, [{ name, tag, status: "completed" }], requestId);
    },
  };
}
