import { type Instance, imagePropertiesOf, isVolumeBacked, type Migration } from "../../../../records/index.js";
import { badRequest, conflict } from "../../../http/http-error.js";
import { schemas } from "../../../http/schemas.js";
import { isUp } from "../../api/agents.js";
import type { ComputeDeps } from "../../api/deps.js";
import { bodyOf, object } from "../../api/schema-parts.js";
import { isOpenTo } from "../../flavors/flavor-access.js";
import { assertUpsizeQuota } from "../../quotas/quota-checks.js";
import { assertFlavorFits, validateRequestedSpecs } from "../image-flavor-checks.js";
import { attributeChanges, USER_ATTRIBUTES, type UserAttributes } from "../server-schemas.js";
import { begin, instanceAction, recordAction, requireAgent } from "./server-action.js";

interface ResizeBody {
  readonly resize: Pick<UserAttributes, "OS-DCF:diskConfig"> & { readonly flavorRef: string | number };
}

const SCHEMA = schemas<ResizeBody>([
  1,
  bodyOf(
    "resize",
    object(
      {
        flavorRef: { type: ["string", "integer"], minLength: 1 },
        "OS-DCF:diskConfig": USER_ATTRIBUTES["OS-DCF:diskConfig"],
      },
      ["flavorRef"],
    ),
  ),
]);

/** Resizes a server (spec 6.3 row 1). */
export const resize = instanceAction({
  name: "resize",
  schema: SCHEMA,
  policy: "os_compute_api:servers:resize",
  states: { vm: ["active", "stopped"] },
  run: (call, instance, { resize: requested }) => {
    const { store } = call;
    requireAgent(call.deps, instance);
    // Links are accepted as well, as in all requests that name a flavor.
    const flavorid = String(requested.flavorRef).replace(/^.*\//, "");
    const flavor = store.flavors.getByFlavorid(flavorid);
    const same = flavor?.id === instance.flavor.id;
    // Nova looks up the flavor as an administrator, so that private flavors of other projects can be used. Here they
    // cannot.
    const open = flavor !== null && (call.isAdmin || isOpenTo(call.deps, flavor, call.credentials.projectId));
    if (!open || (flavor.disabled && !same)) {
      throw badRequest(`Flavor ${flavorid} could not be found.`);
    }
    if (flavor.rootGb === 0 && instance.flavor.rootGb !== 0 && !isVolumeBacked(instance)) {
      throw badRequest("Server disk was unable to be resized because: Resize to zero disk flavor is not allowed.");
    }
    if (same) {
      throw badRequest("When resizing, instances must change flavor!");
    }
    const image = imagePropertiesOf(instance);
    const [minRam, minDisk] = [Number(image.min_ram) || 0, Number(image.min_disk) || 0];
    assertFlavorFits(flavor, { minRam, minDisk: isVolumeBacked(instance) ? 0 : minDisk, size: null });
    validateRequestedSpecs(flavor, image);
    assertUpsizeQuota(call.deps, instance, instance.flavor, flavor, 403);
    begin(call, instance, { taskState: "resize_prep", progress: 0, ...attributeChanges(requested) }, "resize");
    store.tasks.add({
      kind: "migrate_server",
      instanceUuid: instance.uuid,
      requestId: call.requestId,
      flavor,
      host: null,
    });
  },
});

/** Confirms a resize (spec 6.3, confirm). */
export const confirmResize = instanceAction({
  name: "confirmResize",
  policy: "os_compute_api:servers:confirm_resize",
  states: { vm: ["resized"] },
  run: (call, instance) => {
    const { store, bus } = call.deps;
    const migration = finishedMigration(call.deps, instance);
    const source = migration.sourceCompute ?? "";
    const service = store.services.getByHost(source, "nova-compute");
    if (!service || !isUp(call.deps, service)) {
      throw conflict("Service is unavailable at this time.");
    }
    store.migrations.save(migration.id, { status: "confirming" }, { expectedStatus: ["finished"] });
    recordAction(call, instance, "confirmResize");
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId: call.requestId };
    bus.cast(source, "confirm_resize", params, call.requestId);
    return { status: 204 };
  },
});

/**
 * Reverts a resize (spec 6.3, revert). The source may be down: the destination sends it the message when it is up
 * again.
 */
export const revertResize = instanceAction({
  name: "revertResize",
  policy: "os_compute_api:servers:revert_resize",
  states: { vm: ["resized"] },
  run: (call, instance) => {
    const { store, bus } = call.deps;
    const migration = finishedMigration(call.deps, instance);
    // Nova's API does not catch this error here, so that its response has the error's own status, 413.
    assertUpsizeQuota(call.deps, instance, instance.flavor, instance.oldFlavor ?? instance.flavor, 413);
    store.requests.changeSpec(instance.uuid, { flavor: instance.oldFlavor ?? instance.flavor });
    begin(call, instance, { taskState: "resize_reverting" }, "revertResize");
    store.migrations.save(migration.id, { status: "reverting" }, { expectedStatus: ["finished"] });
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId: call.requestId };
    bus.cast(migration.destCompute ?? instance.host ?? "", "revert_resize", params, call.requestId);
  },
});

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
