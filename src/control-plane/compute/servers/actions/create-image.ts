import type { Instance } from "../../../../records/index.js";
import type { Call } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { badRequest } from "../../api/fault.js";
import { requireMember } from "../../api/policy.js";
import { METADATA, NAME } from "../../api/schema-parts.js";
import { schemas } from "../../api/validate.js";
import { assertImageMetadataQuota } from "../../quotas/request-quota.js";
import { findInstance } from "../find-server.js";
import { begin } from "./agent-action.js";
import { type AllowedStates, requireHost, requireState, type ServerAction } from "./server-action.js";

interface CreateImageBody {
  readonly createImage: { readonly name: string; readonly metadata?: Readonly<Record<string, string>> };
}

const SCHEMA = schemas<CreateImageBody>([
  1,
  {
    type: "object",
    properties: {
      createImage: {
        type: "object",
        properties: { name: NAME, metadata: METADATA },
        required: ["name"],
        additionalProperties: false,
      },
    },
    required: ["createImage"],
    additionalProperties: false,
  },
]);

/** In which servers have a disk that can be copied. */
export const SNAPSHOT_STATES: AllowedStates = { vm: ["active", "stopped", "paused", "suspended"] };

/** Spec 6.6: the image is there at once, without bytes; the agent sends them. */
export const createImage: ServerAction = {
  name: "createImage",
  schema: SCHEMA,
  run: (deps, call) => {
    const { name, metadata } = call.body(SCHEMA).createImage;
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:create_image");
    requireState(instance, "createImage", SNAPSHOT_STATES);
    if (instance.imageRef === "") {
      throw badRequest("A server without a root disk of its own has nothing that an image could be made of.");
    }
    assertImageMetadataQuota(deps, call, metadata);
    const host = requireHost(instance);
    const imageId = deps.images.addSnapshot(instance, name, metadata);
    askForSnapshot(deps, call, instance, { host, imageId, action: "createImage" });
    const root = call.links.unscoped("").replace(/\/compute\/.*$/, "");
    return call.version >= 45
      ? { status: 202, body: { image_id: imageId } }
      : { status: 202, headers: { location: `${root}/image/v2/images/${imageId}` } };
  },
};

/** Has the server's host send what is on its disk into an image. */
export function askForSnapshot(
  deps: ComputeDeps,
  call: Call,
  instance: Instance,
  { host, imageId, action }: { readonly host: string; readonly imageId: string; readonly action: string },
): void {
  const { requestId } = call;
  begin(deps, call, instance, { taskState: "image_snapshot_pending" }, action);
  deps.bus.cast(host, "snapshot_instance", { instanceUuid: instance.uuid, imageId, requestId }, requestId);
}
