import { checkBody } from "../api/check-body.js";
import { allows } from "../api/enforcer.js";
import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { conflict, IdentityError, notFound } from "../api/identity-error.js";
import { resourceRoutes, targetOf } from "../api/resource-routes.js";
import { changes, members, orNull, TEXT } from "../api/schema-parts.js";
import type { Credential } from "../store/records.js";
import { EC2_ROUTES, parsedBlob } from "./ec2-routes.js";

const CREATE = members({ blob: TEXT, type: TEXT, user_id: TEXT }, { project_id: orNull(TEXT) });
const UPDATE = changes({ blob: TEXT, type: TEXT, user_id: TEXT, project_id: orNull(TEXT) });

/** Secrets that users keep for other services, such as keys of EC2. */
export const CREDENTIAL_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes<Credential>({
    plural: "credentials",
    singular: "credential",
    filters: ["user_id", "type"],
    table: (store) => store.credentials,
    list: (call) => {
      const { token, store } = call;
      return store.credentials
        .list()
        .filter((one) => allows("identity:get_credential", token, targetOf("credential", one)));
    },
    listedBy: ({ token }) => ({ "target.credential.user_id": token.user.id }),
    create,
    update: ({ store }, credential, body) => store.credentials.update({ ...credential, ...checkBody(UPDATE, body) }),
    remove: ({ store }, credential) => store.credentials.delete(credential.id),
  }),
  ...EC2_ROUTES,
];

/** The id of an EC2 key is the digest of its access key: there is one of each. */
function create(call: IdentityCall, body: unknown): Credential {
  const attributes = checkBody(CREATE, body);
  const { store, services } = call;
  if (attributes.type === "ec2" && attributes.project_id == null) {
    throw new IdentityError(400, "'project_id' is a required property");
  }
  if (!store.users.get(attributes.user_id)) {
    throw notFound("user", attributes.user_id);
  }
  const access = attributes.type === "ec2" ? parsedBlob(attributes.blob).access : undefined;
  if (attributes.type === "ec2" && access === undefined) {
    throw new IdentityError(400, "Invalid blob in credential");
  }
  const id = access === undefined ? call.newId() : services.digests.sha256(access);
  if (store.credentials.get(id)) {
    throw conflict("credential", `Duplicate entry found with ID ${id}`);
  }
  return store.credentials.insert({ ...attributes, id, project_id: attributes.project_id ?? null });
}
