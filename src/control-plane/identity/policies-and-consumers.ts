import { badRequest } from "../http/http-error.js";
import { resourceRoutes } from "./api/resource-routes.js";
import { CONSUMERS, POLICIES } from "./store/records.js";

/** Routes of policies: stored blobs without effect. */
export const POLICY_ROUTES = resourceRoutes(POLICIES, {
  table: (store) => store.policies,
  create: (call, attributes) => call.store.policies.insert({ ...attributes, id: call.newId() }),
});

/** Routes of OAuth consumers, which are stored only: no tokens are issued for them. */
export const CONSUMER_ROUTES = resourceRoutes(CONSUMERS, {
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
