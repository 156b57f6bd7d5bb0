import { type Instance, imagePropertiesOf, isVolumeBacked } from "../../../../records/index.js";
import { defined } from "../../../../runtime/collections.js";
import { badRequest, conflict, type HttpError } from "../../../http/http-error.js";
import { schemas } from "../../../http/schemas.js";
import { type Call, type ComputeResponse, requireMember } from "../../api/call.js";
import { ADMIN_PASSWORD, bodyOf, object, UUID_TEXT } from "../../api/schema-parts.js";
import { unusedVolume } from "../block-devices/volume-rules.js";
import { generatePassword } from "../create-server.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { requireImage } from "../image-flavor-checks.js";
import { begin, requireHost, requireState, type ServerAction } from "./server-action.js";

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

/** Rescues a server. Hosts of servers that boot from volumes must be able to, which Placement knows by a trait. */
export const rescue: ServerAction = {
  name: "rescue",
  schema: SCHEMA,
  ask: (call) => {
    const instance = call.store.transaction(() => findRescuable(call));
    return isVolumeBacked(instance) ? rescueVolumeBacked(call, instance) : start(call);
  },
};

function start(call: Call): ComputeResponse {
  const { rescue: requested } = call.body(SCHEMA);
  call.store.transaction(() => {
    const instance = findRescuable(call);
    const host = requireHost(instance);
    begin(call, instance, { taskState: "rescuing" }, "rescue");
    const { requestId } = call;
    const image = requested?.rescue_image_ref;
    const params = { instanceUuid: instance.uuid, requestId, ...defined({ rescueImageRef: image }) };
    call.deps.bus.cast(host, "rescue_instance", params, requestId);
  });
  call.deps.wake();
  return { status: 200, body: { adminPass: requested?.adminPass ?? generatePassword(call.deps.random) } };
}

const RESCUES_VOLUMES = "COMPUTE_RESCUE_BFV";

async function rescueVolumeBacked(call: Call, instance: Instance): Promise<ComputeResponse> {
  const { computeNodes } = call.store;
  const node = computeNodes.getByHostAndNode(requireHost(instance), instance.node ?? "");
  const { traits } = await call.deps.placement.getProviderTraits(node?.uuid ?? "", { requestId: call.requestId });
  if (!traits.includes(RESCUES_VOLUMES)) {
    throw notRescuable(instance, "Host unable to rescue a volume-backed instance");
  }
  return start(call);
}

function notRescuable({ uuid }: Instance, reason: string): HttpError {
  return badRequest(`Instance ${uuid} cannot be rescued: ${reason}`);
}

/** The first microversion that rescues servers that boot from volumes. */
const VOLUMES_FROM = 87;

/** @throws {HttpError} 400, 403, 404, 409 */
function findRescuable(call: Call): Instance {
  const { rescue: requested } = call.body(SCHEMA);
  const instance = findInstance(call);
  requireMember(call, "os_compute_api:os-rescue");
  assertNotLocked(call, instance);
  requireState(instance, "rescue", { vm: ["active", "stopped", "error"] });
  requireHost(instance);
  const image = requested?.rescue_image_ref;
  const unknown = `Requested rescue image '${image}' is not supported`;
  const properties = image === undefined ? imagePropertiesOf(instance) : requireImage(call, image, unknown).noted;
  if (image !== undefined && properties.block_device_mapping !== undefined) {
    throw badRequest(unknown);
  }
  const unused = unusedVolume(call, instance);
  if (unused) {
    throw conflict(unused.message);
  }
  const isStable = "hw_rescue_bus" in properties && "hw_rescue_device" in properties;
  if (isVolumeBacked(instance) && !(call.version >= VOLUMES_FROM && isStable)) {
    throw notRescuable(instance, "Cannot rescue a volume-backed instance");
  }
  return instance;
}
