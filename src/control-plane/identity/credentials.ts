import { isObject } from "../../runtime/collections.js";
import { badRequest } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { conflict, notFound } from "./api/identity-error.js";
import { allows } from "./api/policy.js";
import { listBody, requireRecord, resourceRoutes, targetOf } from "./api/resource-routes.js";
import type { CreateOf } from "./store/identity-resource.js";
import { CREDENTIALS, type Credential } from "./store/records.js";

/** Routes of a user's EC2 access keys, stored as credentials of type `ec2`. */
const EC2_ROUTES = routes<IdentityRoute>(
  {
    "GET /": (call) => {
      const userId = ownerOf(call, "identity:ec2_list_credentials");
      const keys = call.store.credentials.findBy({ user_id: userId, type: "ec2" });
      const views = keys.map((key) => ec2View(call, key));
      return { body: listBody(call, "credentials", views) };
    },
    "POST /": (call) => {
      const userId = ownerOf(call, "identity:ec2_create_credential");
      const projectId = String(call.json().tenant_id ?? "");
      requireRecord("project", projectId, call.store.projects.get(projectId));
      const blob = { access: call.newId(), secret: call.newId(), trust_id: null };
      const key = call.store.credentials.insert({
        id: call.services.digests.sha256(blob.access),
        type: "ec2",
        blob: JSON.stringify(blob),
        user_id: userId,
        project_id: projectId,
      });
      return { status: 201, body: { credential: ec2View(call, key) } };
    },
    "GET /:access": (call) => ({
      body: { credential: ec2View(call, keyOf(call, "identity:ec2_get_credential")) },
    }),
    "DELETE /:access": (call) => {
      call.store.credentials.delete(keyOf(call, "identity:ec2_delete_credential").id);
      return { status: 204 };
    },
  },
  { prefix: "/v3/users/:id/credentials/OS-EC2" },
);

/** Routes of credentials: secrets of users for other services, such as EC2 keys. */
export const CREDENTIAL_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes(CREDENTIALS, {
    table: (store) => store.credentials,
    list: ({ token, store }) =>
      store.credentials.list().filter((one) => allows("identity:get_credential", token, targetOf("credential", one))),
    listedBy: ({ token }) => ({ "target.credential.user_id": token.user.id }),
    create,
  }),
  ...EC2_ROUTES,
];

/** Creates a credential. The id of an EC2 key is the digest of its access key, which makes access keys unique. */
function create(call: IdentityCall, attributes: CreateOf<typeof CREDENTIALS.attributes>): Credential {
  const { store, services } = call;
  if (attributes.type === "ec2" && attributes.project_id == null) {
    throw badRequest("'project_id' is a required property");
  }
  requireRecord("user", attributes.user_id, store.users.get(attributes.user_id));
  const access = attributes.type === "ec2" ? parsedBlob(attributes.blob).access : undefined;
  if (attributes.type === "ec2" && access === undefined) {
    throw badRequest("Invalid blob in credential");
  }
  const id = access === undefined ? call.newId() : services.digests.sha256(access);
  if (store.credentials.get(id)) {
    throw conflict("credential", `Duplicate entry found with ID ${id}`);
  }
  return store.credentials.insert({ ...attributes, id, project_id: attributes.project_id ?? null });
}

/** Parses the blob of an EC2 key; an unreadable blob yields no members. */
function parsedBlob(blob: string): { readonly access?: string; readonly secret?: string } {
  try {
    const value: unknown = JSON.parse(blob);
    const { access, secret } = isObject(value) ? value : {};
    return {
      ...(typeof access === "string" ? { access } : {}),
      ...(typeof secret === "string" ? { secret } : {}),
    };
  } catch {
    return {};
  }
}

function ownerOf(call: IdentityCall, action: string): string {
  const user = call.store.users.get(call.param("id"));
  call.enforce(action, { "target.user.id": call.param("id") });
  return requireRecord("user", call.param("id"), user).id;
}

function keyOf(call: IdentityCall, action: string): Credential {
  const access = call.param("access");
  const key = call.store.credentials.get(call.services.digests.sha256(access));
  call.enforce(action, key ? targetOf("credential", key) : { "target.credential.user_id": call.token.user.id });
  if (!key || key.user_id !== call.param("id")) {
    throw notFound("credential", access);
  }
  return key;
}

function ec2View(call: IdentityCall, key: Credential): Readonly<Record<string, Json>> {
  const { access = "", secret = "" } = parsedBlob(key.blob);
  const self = `${call.root}/users/${key.user_id}/credentials/OS-EC2/${access}`;
  return { user_id: key.user_id, tenant_id: key.project_id, access, secret, trust_id: null, links: { self } };
}
