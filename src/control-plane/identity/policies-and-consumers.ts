import { Type } from "typebox";
import { badRequest } from "../http/http-error.js";
import { bodies, orNull, resourceRoutes, TEXT } from "./api/resource-routes.js";

/** Routes of policies: stored blobs without effect. */
export const POLICY_ROUTES = resourceRoutes({
  plural: "policies",
  singular: "policy",
  filters: ["type"],
  body: bodies({ blob: TEXT, type: Type.String({ maxLength: 255 }) }, {}),
  table: (store) => store.policies,
  create: (call, attributes) => call.store.policies.insert({ ...attributes, id: call.newId() }),
});

/** Routes of OAuth consumers, which are stored only: no tokens are issued for them. */
export const CONSUMER_ROUTES = resourceRoutes({
  plural: "consumers",
  singular: "consumer",
  path: "/v3/OS-OAUTH1/consumers",
  filters: [],
  body: bodies({}, { description: orNull(TEXT) }),
  table: (store) => store.consumers,
  create: (call, attributes) => {
    const secret = call.newId();
    return { ...call.store.consumers.insert({ description: null, ...attributes, id: call.newId() }), secret };
  },
  update: ({ store }, consumer, changes) => {
    if ("secret" in changes) {
      throw badRequest("Cannot change consumer secret");
    }
    return store.consumers.update({ ...consumer, ...changes });
  },
});
