import { badRequest } from "../../http/http-error.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import { invalidInput } from "../engine/block-storage-errors.js";
import { booleanFromText, object } from "../engine/schema-parts.js";
import { defaultQuotas, quotasOf, removeLimits, saveLimit, storedLimits, usedQuotas } from "./quotas.js";

const QUOTA_SET: SchemaVersions<{ readonly quota_set: Body }> = schemas([
  0,
  object({ quota_set: { type: "object", minProperties: 1, format: "quota_set" } }, ["quota_set"]),
]);

const QUOTA_CLASS_SET: SchemaVersions<{ readonly quota_class_set: Body }> = schemas([
  0,
  object(
    {
      quota_class_set: {
        type: "object",
        format: "quota_class_set",
        patternProperties: {
          "^[a-zA-Z0-9-_:. ]{1,255}$": {
            type: ["integer", "string"],
            pattern: "^[0-9]*$",
            minimum: -1,
            minLength: 1,
            maximum: 2_147_483_647,
          },
        },
        additionalProperties: false,
      },
    },
    ["quota_class_set"],
  ),
]);

export const QUOTA_ROUTES: readonly BlockStorageRoute[] = routes<BlockStorageRoute>({
  "GET /os-quota-sets/:id": (call) => {
    const id = call.param("id");
    call.context.authorize("volume_extension:quotas:show", { project_id: id });
    const limits = quotasOf(call.context, id);
    if (!booleanFromText(call.query.get("usage"))) {
      return { body: { quota_set: { ...limits, id } } };
    }
    const used = usedQuotas(call.context, id);
    const usage = Object.entries(limits).map(([name, limit]) => [
      name,
      { limit, in_use: used[name] ?? 0, reserved: 0 },
    ]);
    return { body: { quota_set: { ...Object.fromEntries(usage), id } } };
  },
  "GET /os-quota-sets/:id/defaults": (call) => {
    const id = call.param("id");
    call.context.authorize("volume_extension:quotas:show", { project_id: id });
    return { body: { quota_set: { ...defaultQuotas(call.context), id } } };
  },
  "PUT /os-quota-sets/:id": {
    body: QUOTA_SET,
    handle: (call) => {
      const id = call.param("id");
      const { quota_set: requested } = call.body(QUOTA_SET);
      const known = quotasOf(call.context, id);
      const limits = Object.entries(requested).filter(([name]) => name !== "tenant_id" && Object.hasOwn(known, name));
      const read = limits.map(([name, value]) => [name, readLimit(name, value)] as const);
      assertKnown("quota set", requested, known);
      call.context.authorize("volume_extension:quotas:update", { project_id: id });
      const used = usedQuotas(call.context, id);
      const byName = new Map(read);
      for (const name of Object.keys(known)) {
        assertCoversUse(name, byName.get(name) ?? -1, used[name] ?? 0);
      }
      for (const [name, limit] of read) {
        saveLimit(call.context, "project", id, name, limit);
      }
      return { body: { quota_set: quotasOf(call.context, id) } };
    },
  },
  "DELETE /os-quota-sets/:id": (call) => {
    const id = call.param("id");
    call.context.authorize("volume_extension:quotas:delete", { project_id: id });
    removeLimits(call.context, id);
    return {};
  },
  "GET /os-quota-class-sets/:id": (call) => {
    const id = call.param("id");
    call.context.authorize("volume_extension:quota_classes:get");
    return { body: { quota_class_set: { ...classOf(call, id), id } } };
  },
  "PUT /os-quota-class-sets/:id": {
    body: QUOTA_CLASS_SET,
    handle: (call) => {
      const id = call.param("id");
      const { quota_class_set: requested } = call.body(QUOTA_CLASS_SET);
      assertKnown("quota class set", requested, defaultQuotas(call.context));
      call.context.authorize("volume_extension:quota_classes:update");
      for (const [name, value] of Object.entries(requested)) {
        saveLimit(call.context, "class", id, name, readLimit(name, value));
      }
      return { body: { quota_class_set: classOf(call, id) } };
    },
  },
});

const classOf = ({ context }: BlockStorageCall, id: string) => ({
  ...defaultQuotas(context),
  ...storedLimits(context, "class", id),
});

/** @throws {HttpError} 400 */
function assertKnown(what: string, requested: Body, known: Readonly<Record<string, number>>): void {
  const unknown = Object.keys(requested).filter((name) => name !== "tenant_id" && !Object.hasOwn(known, name));
  if (unknown.length > 0) {
    throw invalidInput(`Bad key(s) in ${what}: ${unknown.join(", ")}`);
  }
}

/** @throws {HttpError} 400 */
function readLimit(name: string, value: unknown): number {
  const text = String(value);
  if (!/^[+-]?\d{1,15}$/.test(text)) {
    throw badRequest(`${name} must be an integer`);
  }
  const limit = Number(text);
  if (limit < -1) {
    throw badRequest(`${name} must be >= -1`);
  }
  if (limit > 2_147_483_647) {
    throw badRequest(`${name} must be <= 2147483647`);
  }
  return limit;
}

/** @throws {HttpError} 400 */
function assertCoversUse(name: string, limit: number, used: number): void {
  if (limit >= 0 && limit < used) {
    throw badRequest(
      `Quota ${name} limit must be equal or greater than existing resources. Current usage is ${used} and the requested limit is ${limit}.`,
    );
  }
}
