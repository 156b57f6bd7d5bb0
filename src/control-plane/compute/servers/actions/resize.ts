import { imagePropertiesOf } from "../../../../records/index.js";
import { badRequest } from "../../api/fault.js";
import { requireMember } from "../../api/policy.js";
import { schemas } from "../../api/validate.js";
import { isOpenTo } from "../../flavors/find-flavor.js";
import { assertUpsizeQuota } from "../../quotas/server-quota.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { assertFlavorFits } from "../image-to-use.js";
import { validateRequestedSpecs } from "../unhonoured-specs.js";
import { USER_ATTRIBUTES, type UserAttributes, wishedChanges } from "../user-requests.js";
import { begin } from "./agent-action.js";
import { requireAgent, requireState, type ServerAction } from "./server-action.js";

interface ResizeBody {
  readonly resize: Pick<UserAttributes, "OS-DCF:diskConfig"> & { readonly flavorRef: string | number };
}

const SCHEMA = schemas<ResizeBody>([
  1,
  {
    type: "object",
    properties: {
      resize: {
        type: "object",
        properties: {
          flavorRef: { type: ["string", "integer"], minLength: 1 },
          "OS-DCF:diskConfig": USER_ATTRIBUTES["OS-DCF:diskConfig"],
        },
        required: ["flavorRef"],
        additionalProperties: false,
      },
    },
    required: ["resize"],
    additionalProperties: false,
  },
]);

/** Spec 6.3 row 1. */
export const resize: ServerAction = {
  name: "resize",
  schema: SCHEMA,
  run: (deps, call) => {
    const { resize: requested } = call.body(SCHEMA);
    const { store } = deps;
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:resize");
    assertNotLocked(call, instance);
    requireState(instance, "resize", { vm: ["active", "stopped"] });
    requireAgent(deps, instance);
    // Links are taken too, as everywhere a flavor is named.
    const flavorid = String(requested.flavorRef).replace(/^.*\//, "");
    const flavor = store.flavors.getByFlavorid(flavorid);
    const same = flavor?.id === instance.flavor.id;
    // Nova looks the flavor up as an administrator, so that others' private ones can be had; here they cannot.
    const open = flavor !== null && (call.isAdmin || isOpenTo(deps, flavor, call.credentials.projectId));
    if (!open || (flavor.disabled && !same)) {
      throw badRequest(`Flavor ${flavorid} could not be found.`);
    }
    if (flavor.rootGb === 0 && instance.flavor.rootGb !== 0 && instance.imageRef !== "") {
      throw badRequest("Server disk was unable to be resized because: Resize to zero disk flavor is not allowed.");
    }
    if (same) {
      throw badRequest("When resizing, instances must change flavor!");
    }
    const image = imagePropertiesOf(instance);
    assertFlavorFits(flavor, { minRam: Number(image.min_ram) || 0, minDisk: Number(image.min_disk) || 0, size: null });
    validateRequestedSpecs(flavor, image);
    assertUpsizeQuota(deps, instance, instance.flavor, flavor, 403);
    begin(deps, call, instance, { taskState: "resize_prep", progress: 0, ...wishedChanges(requested) }, "resize");
    store.tasks.add({
      kind: "migrate_server",
      instanceUuid: instance.uuid,
      requestId: call.requestId,
      flavor,
      host: null,
    });
    return { status: 202 };
  },
};
