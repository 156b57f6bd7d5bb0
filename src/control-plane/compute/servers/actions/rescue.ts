import { schemas } from "../../../http/schemas.js";
import { requireMember } from "../../api/call.js";
import { ADMIN_PASSWORD } from "../../api/schema-parts.js";
import { generatePassword } from "../create-server.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { imageToUse } from "../image-flavor-checks.js";
import { agentAction, begin, requireHost, requireState, type ServerAction } from "./server-action.js";

interface RescueBody {
  readonly rescue: { readonly adminPass?: string; readonly rescue_image_ref?: string } | null;
}

const SCHEMA = schemas<RescueBody>([
  1,
  {
    type: "object",
    properties: {
      rescue: {
        type: ["object", "null"],
        properties: { adminPass: ADMIN_PASSWORD, rescue_image_ref: { type: "string", format: "uuid" } },
        additionalProperties: false,
      },
    },
    required: ["rescue"],
    additionalProperties: false,
  },
]);

export const rescue: ServerAction = {
  name: "rescue",
  schema: SCHEMA,
  run: (deps, call) => {
    const { rescue: requested } = call.body(SCHEMA);
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:os-rescue");
    assertNotLocked(call, instance);
    requireState(instance, "rescue", { vm: ["active", "stopped", "error"] });
    const host = requireHost(instance);
    const image = requested?.rescue_image_ref;
    if (image !== undefined) {
      imageToUse(deps, call, image, `Requested rescue image '${image}' is not supported`);
    }
    begin(deps, call, instance, { taskState: "rescuing" }, "rescue");
    const { requestId } = call;
    const params = {
      instanceUuid: instance.uuid,
      requestId,
      ...(image === undefined ? {} : { rescueImageRef: image }),
    };
    deps.bus.cast(host, "rescue_instance", params, requestId);
    return { status: 200, body: { adminPass: requested?.adminPass ?? generatePassword(deps.random) } };
  },
};

export const unrescue = agentAction({
  name: "unrescue",
  verb: "unrescue",
  policy: "os_compute_api:os-unrescue",
  states: { vm: ["rescued"] },
  taskState: "unrescuing",
  method: "unrescue_instance",
});
