import { Type } from "typebox";
import { checkBody } from "../api/check-body.js";
import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { conflict, IdentityError } from "../api/identity-error.js";
import { resourceRoutes } from "../api/resource-routes.js";
import { ID, orNull, TEXT } from "../api/schema-parts.js";
import type { RegisteredLimit } from "../store/records.js";
import { bodies, collectionBody, type LimitKey, limitNotFound, registeredLimit, requirePlace } from "./limit-rules.js";

export const AMOUNT = Type.Integer({ minimum: -1, maximum: 0x7fffffff });
export const RESOURCE = Type.String({ minLength: 1, maxLength: 255 });

const MEMBERS = {
  service_id: ID,
  region_id: Type.Optional(orNull(TEXT)),
  resource_name: RESOURCE,
  default_limit: AMOUNT,
  description: Type.Optional(orNull(TEXT)),
};
const CREATE = Type.Array(Type.Object(MEMBERS, { additionalProperties: false }), { minItems: 1 });
const UPDATE = Type.Partial(Type.Object({ ...MEMBERS, id: ID }), { additionalProperties: false });

const KIND = "registered_limit";

/** What there is to be limited, by service and region. All of a request are made, or none. */
export const REGISTERED_LIMIT_ROUTES: readonly IdentityRoute[] = [
  {
    method: "POST",
    path: "/v3/registered_limits",
    handle: (call) => {
      call.enforce("identity:create_registered_limits");
      const requestedLimits = checkBody(CREATE, bodies(call, "registered_limits"));
      const { store } = call;
      const made = store.sql.transaction(() =>
        requestedLimits.map(({ region_id = null, description = null, ...rest }) => {
          const limit = { region_id, description, ...rest, id: call.newId() };
          requirePlace(call, KIND, limit);
          assertUniqueKey(call, limit);
          return store.registeredLimits.insert(limit);
        }),
      );
      return { status: 201, body: collectionBody(call, "registered_limits", made) };
    },
  },
  ...resourceRoutes<RegisteredLimit>({
    plural: "registered_limits",
    singular: KIND,
    missing: (id) => limitNotFound("registered limit", id),
    filters: ["service_id", "region_id", "resource_name"],
    table: (store) => store.registeredLimits,
    list: ({ store }) => store.registeredLimits.list(),
    update: (call, before, body) => {
      const { id: _id, ...changes } = checkBody(UPDATE, body);
      return call.store.sql.transaction(() => {
        assertUnused(call, before.id);
        const after = { ...before, ...changes };
        // The service may have been deleted since.
        requirePlace(call, KIND, changes);
        assertUniqueKey(call, after, before.id);
        return call.store.registeredLimits.update(after);
      });
    },
    remove: (call, { id }) => {
      assertUnused(call, id);
      call.store.registeredLimits.delete(id);
    },
  }),
];

/** @throws {IdentityError} 409 */
function assertUniqueKey({ store }: IdentityCall, key: LimitKey, own?: string): void {
  const other = registeredLimit(store, key);
  if (other && other.id !== own) {
    throw conflict(KIND, "Duplicate entry");
  }
}

/** @throws {IdentityError} 403 */
function assertUnused({ store }: IdentityCall, id: string): void {
  if (store.limits.list().some(({ registered_limit_id: registered }) => registered === id)) {
    throw new IdentityError(
      403,
      `Unable to update or delete registered limit ${id} because there are project limits associated with it.`,
    );
  }
}
