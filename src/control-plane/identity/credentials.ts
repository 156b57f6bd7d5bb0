import { isObject } from "../../runtime/collections.js";
import { HttpError } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { conflict, notFound } from "./api/identity-error.js";
import { allows } from "./api/policy.js";
import {
  checkBody,
  createSchema,
  listBody,
  orNull,
  resourceRoutes,
  TEXT,
  targetOf,
  updateSchema,
} from "./api/resource-routes.js";
import type { Credential } from "./store/records.js";

const PATH = "/v3/users/:id/credentials/OS-EC2";

/** Routes of a user's EC2 access keys, stored as credentials of type `ec2`. */
const EC2_ROUTES: readonly IdentityRoute[] = [
  {
    method: "GET",
    path: PATH,
    handle: (call) => {
      const userId = ownerOf(call, "identity:ec2_list_credentials");
      const keys = call.store.credentials.where("user_id", userId).filter(({ type }) => type === "ec2");
      const views = keys.map((key) => ec2View(call, key));
      return { body: listBody(call, "credentials", views) };
    },
  },
  {
    method: "POST",
    path: PATH,
    handle: (call) => {
      const userId = ownerOf(call, "identity:ec2_create_credential");
      const projectId = String(call.json().tenant_id ?? "");
      if (!call.store.projects.get(projectId)) {
        throw notFound("project", projectId);
      }
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
  },
  {
    method: "GET",
    path: `${PATH}/:access`,
    handle: (call) => ({ body: { credential: ec2View(call, keyOf(call, "identity:ec2_get_credential")) } }),
  },
  {
    method: "DELETE",
    path: `${PATH}/:access`,
    handle: (call) => {
      call.store.credentials.delete(keyOf(call, "identity:ec2_delete_credential").id);
      return { status: 204 };
    },
  },
];

const CREATE = createSchema({ blob: TEXT, type: TEXT, user_id: TEXT }, { project_id: orNull(TEXT) });

const UPDATE = updateSchema({ blob: TEXT, type: TEXT, user_id: TEXT, project_id: orNull(TEXT) });

/** Routes of credentials: secrets of users for other services, such as EC2 keys. */
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

/** Creates a credential. The id of an EC2 key is the digest of its access key, which makes access keys unique. */
function create(call: IdentityCall, body: unknown): Credential {
  const attributes = checkBody(CREATE, body);
  const { store, services } = call;
  if (attributes.type === "ec2" && attributes.project_id == null) {
    throw new HttpError(400, "'project_id' is a required property");
  }
  if (!store.users.get(attributes.user_id)) {
    throw notFound("user", attributes.user_id);
  }
  const access = attributes.type === "ec2" ? parsedBlob(attributes.blob).access : undefined;
  if (attributes.type === "ec2" && access === undefined) {
    throw new HttpError(400, "Invalid blob in credential");
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
  if (!user) {
    throw notFound("user", call.param("id"));
  }
  return user.id;
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
