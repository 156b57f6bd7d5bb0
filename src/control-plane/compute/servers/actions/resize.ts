import { type Instance, imagePropertiesOf, type Migration } from "../../../../records/index.js";
import { badRequest, conflict } from "../../../http/http-error.js";
import { schemas } from "../../../http/schemas.js";
import { isUp } from "../../api/agents.js";
import { requireMember } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { isOpenTo } from "../../flavors/flavor-access.js";
import { assertUpsizeQuota } from "../../quotas/quota-checks.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { assertFlavorFits, validateRequestedSpecs } from "../image-flavor-checks.js";
import { instanceChangesOf, USER_ATTRIBUTES, type UserAttributes } from "../server-schemas.js";
import { anyBody, begin, recordAction, requireAgent, requireState, type ServerAction } from "./server-action.js";

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

/** Resizes a server (spec 6.3 row 1). */
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
    // Links are accepted as well, as in all requests that name a flavor.
    const flavorid = String(requested.flavorRef).replace(/^.*\//, "");
    const flavor = store.flavors.getByFlavorid(flavorid);
    const same = flavor?.id === instance.flavor.id;
    // Nova looks up the flavor as an administrator, so that private flavors of other projects can be used. Here they
    // cannot.
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
    begin(deps, call, instance, { taskState: "resize_prep", progress: 0, ...instanceChangesOf(requested) }, "resize");
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

/** Confirms a resize (spec 6.3, confirm). */
export const confirmResize: ServerAction = {
  name: "confirmResize",
  schema: anyBody("confirmResize"),
  run: (deps, call) => {
    const { store, bus } = deps;
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:confirm_resize");
    assertNotLocked(call, instance);
    requireState(instance, "confirmResize", { vm: ["resized"] });
    const migration = finishedMigration(deps, instance);
    const source = migration.sourceCompute ?? "";
    const service = store.services.getByHost(source, "nova-compute");
    if (!service || !isUp(deps, service)) {
      throw conflict("Service is unavailable at this time.");
    }
    store.migrations.save(migration.id, { status: "confirming" }, { expectedStatus: ["finished"] });
    recordAction(deps, call, instance, "confirmResize");
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId: call.requestId };
    bus.cast(source, "confirm_resize", params, call.requestId);
    return { status: 204 };
  },
};

/**
 * Reverts a resize (spec 6.3, revert). The source may be down: the destination sends it the message when it is up
 * again.
 */
export const revertResize: ServerAction = {
  name: "revertResize",
  schema: anyBody("revertResize"),
  run: (deps, call) => {
    const { store, bus } = deps;
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:revert_resize");
    assertNotLocked(call, instance);
    requireState(instance, "revertResize", { vm: ["resized"] });
    const migration = finishedMigration(deps, instance);
    // Nova's API does not catch this error here, so that its response has the error's own status, 413.
    assertUpsizeQuota(deps, instance, instance.flavor, instance.oldFlavor ?? instance.flavor, 413);
    store.requests.changeSpec(instance.uuid, { flavor: instance.oldFlavor ?? instance.flavor });
    begin(deps, call, instance, { taskState: "resize_reverting" }, "revertResize");
    store.migrations.save(migration.id, { status: "reverting" }, { expectedStatus: ["finished"] });
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId: call.requestId };
    bus.cast(migration.destCompute ?? instance.host ?? "", "revert_resize", params, call.requestId);
    return { status: 202 };
  },
};

function finishedMigration({ store }: ComputeDeps, { uuid }: Instance): Migration {
  const found = store.migrations.byFilters({
    instanceUuid: uuid,
    statuses: ["finished"],
    migrationTypes: ["migration", "resize"],
  });
  const newest = found.at(-1);
  if (newest === undefined) {
    throw badRequest("Instance has not been resized.");
  }
  return newest;
}
