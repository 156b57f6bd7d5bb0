import { Type } from "typebox";
import { checkBody } from "../api/check-body.js";
import type { IdentityRoute } from "../api/identity-call.js";
import { resourceRoutes } from "../api/resource-routes.js";
import { changes, members, TEXT } from "../api/schema-parts.js";
import type { PlainRecord } from "../store/records.js";

const POLICY = { blob: TEXT, type: Type.String({ maxLength: 255 }) };
const CREATE = members(POLICY, {});
const UPDATE = changes(POLICY);

/** Blobs that are kept for those who ask for them: no service here reads them. */
export const POLICY_ROUTES: readonly IdentityRoute[] = resourceRoutes<PlainRecord>({
  plural: "policies",
  singular: "policy",
  filters: ["type"],
  table: (store) => store.policies,
  list: ({ store }) => store.policies.list(),
  create: (call, body) => call.store.policies.insert({ ...checkBody(CREATE, body), id: call.newId() }),
  update: ({ store }, policy, body) => store.policies.update({ ...policy, ...checkBody(UPDATE, body) }),
  remove: ({ store }, policy) => store.policies.delete(policy.id),
});
