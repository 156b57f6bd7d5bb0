import { Type } from "typebox";
import { HttpError } from "../http/http-error.js";
import type { IdentityRoute } from "./api/identity-call.js";
import { checkBody, createSchema, orNull, resourceRoutes, TEXT, updateSchema } from "./api/resource-routes.js";
import type { PlainRecord } from "./store/records.js";

const POLICY = { blob: TEXT, type: Type.String({ maxLength: 255 }) };

const CREATE = createSchema(POLICY, {});

const UPDATE = updateSchema(POLICY);

/** Routes of policies: stored blobs without effect. */
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

const CREATE_CONSUMER = createSchema({}, { description: orNull(TEXT) });

const UPDATE_CONSUMER = updateSchema({ description: orNull(TEXT) });

/** Routes of OAuth consumers, which are stored only: no tokens are issued for them. */
export const CONSUMER_ROUTES: readonly IdentityRoute[] = resourceRoutes<PlainRecord>({
  plural: "consumers",
  singular: "consumer",
  path: "/v3/OS-OAUTH1/consumers",
  filters: [],
  table: (store) => store.consumers,
  list: ({ store }) => store.consumers.list(),
  create: (call, body) => {
    const secret = call.newId();
    const consumer = { description: null, ...checkBody(CREATE_CONSUMER, body), id: call.newId() };
    return { ...call.store.consumers.insert(consumer), secret };
  },
  update: ({ store }, consumer, body) => {
    const requestedChanges = checkBody(UPDATE_CONSUMER, body);
    if ("secret" in requestedChanges) {
      throw new HttpError(400, "Cannot change consumer secret");
    }
    return store.consumers.update({ ...consumer, ...requestedChanges });
  },
  remove: ({ store }, consumer) => store.consumers.delete(consumer.id),
});
