import { defined } from "../../../../runtime/collections.js";
import { schemas } from "../../../http/schemas.js";
import { ADMIN_PASSWORD, bodyOf, object, UUID_TEXT } from "../../api/schema-parts.js";
import { generatePassword } from "../create-server.js";
import { imageToUse } from "../image-flavor-checks.js";
import { begin, instanceAction, requireHost } from "./server-action.js";

interface RescueBody {
  readonly rescue: { readonly adminPass?: string; readonly rescue_image_ref?: string } | null;
}

const SCHEMA = schemas<RescueBody>([
  1,
  bodyOf(
    "rescue",
    object({ adminPass: ADMIN_PASSWORD, rescue_image_ref: UUID_TEXT }, [], { type: ["object", "null"] }),
  ),
]);

export const rescue = instanceAction({
  name: "rescue",
  schema: SCHEMA,
  policy: "os_compute_api:os-rescue",
  states: { vm: ["active", "stopped", "error"] },
  run: (call, instance, { rescue: requested }) => {
    const host = requireHost(instance);
    const image = requested?.rescue_image_ref;
    if (image !== undefined) {
      imageToUse(call, image, `Requested rescue image '${image}' is not supported`);
    }
    begin(call, instance, { taskState: "rescuing" }, "rescue");
    const { requestId } = call;
    const params = { instanceUuid: instance.uuid, requestId, ...defined({ rescueImageRef: image }) };
    call.deps.bus.cast(host, "rescue_instance", params, requestId);
    return { status: 200, body: { adminPass: requested?.adminPass ?? generatePassword(call.deps.random) } };
  },
});
