import { checkBody } from "../api/check-body.js";
import type { IdentityRoute } from "../api/identity-call.js";
import { IdentityError } from "../api/identity-error.js";
import { resourceRoutes } from "../api/resource-routes.js";
import { changes, members, orNull, TEXT } from "../api/schema-parts.js";
import type { PlainRecord } from "../store/records.js";

const CREATE = members({}, { description: orNull(TEXT) });
const UPDATE = changes({ description: orNull(TEXT) });

/** Consumers of OAuth are kept; nobody gets a token by one. */
export const CONSUMER_ROUTES: readonly IdentityRoute[] = resourceRoutes<PlainRecord>({
  plural: "consumers",
  singular: "consumer",
  path: "/v3/OS-OAUTH1/consumers",
  filters: [],
  table: (store) => store.consumers,
  list: ({ store }) => store.consumers.list(),
  create: (call, body) => {
    const secret = call.newId();
    const consumer = { description: null, ...checkBody(CREATE, body), id: call.newId() };
    return { ...call.store.consumers.insert(consumer), secret };
  },
  update: ({ store }, consumer, body) => {
    const requestedChanges = checkBody(UPDATE, body);
    if ("secret" in requestedChanges) {
      throw new IdentityError(400, "Cannot change consumer secret");
    }
    return store.consumers.update({ ...consumer, ...requestedChanges });
  },
  remove: ({ store }, consumer) => store.consumers.delete(consumer.id),
});
