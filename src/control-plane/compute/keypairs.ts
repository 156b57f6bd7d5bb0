import type { Digests } from "../../runtime/cryptography.js";
import { badRequest, type HttpError, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { type Schema, schemas } from "../http/schemas.js";
import { isoMicroseconds } from "../http/times.js";
import type { KeyPair } from "../store/key-pairs.js";
import { type Call, type ComputeResponse, type ComputeRoute, denied, readPage, takePage } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { INTEGER_TEXT, MULTI, NAME } from "./api/schema-parts.js";
import { assertKeyPairQuota } from "./quotas/quota-checks.js";

interface CreateBody {
  readonly keypair: {
    readonly name: string;
    readonly public_key?: string;
    readonly type?: "ssh" | "x509";
    readonly user_id?: string;
  };
}

const v1 = { name: NAME, public_key: { type: "string" } };

const v2 = { ...v1, type: { type: "string", enum: ["ssh", "x509"] } };

const v10 = { ...v2, user_id: { type: "string", minLength: 1 } };

const v92 = { ...v10, name: { ...NAME, pattern: "^[a-zA-Z0-9@._ -]+$" } };

const CREATE = schemas<CreateBody>(
  [1, body(v1)],
  [2, body(v2)],
  [10, body(v10)],
  [92, body(v92, ["name", "public_key"])],
);

const paged = { user_id: MULTI(), limit: MULTI(INTEGER_TEXT), marker: MULTI() };

const LIST = schemas<unknown>(
  [1, querySchema({}, true)],
  [10, querySchema({ user_id: MULTI() }, true)],
  [35, querySchema(paged, true)],
  [75, querySchema(paged, false)],
);

const ONE = schemas<unknown>(
  [1, querySchema({}, true)],
  [10, querySchema({ user_id: MULTI() }, true)],
  [75, querySchema({ user_id: MULTI() }, false)],
);

/** Number of length-prefixed parts that follow the key type. */
const PARTS: Readonly<Record<string, number>> = {
  "ssh-rsa": 2,
  "ssh-dss": 4,
  "ssh-ed25519": 1,
  "ecdsa-sha2-nistp256": 2,
  "ecdsa-sha2-nistp384": 2,
  "ecdsa-sha2-nistp521": 2,
};

/**
 * Public keys of users for new servers. The private key of a generated pair occurs only in the response that creates
 * it.
 */
export const KEYPAIR_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-keypairs", handle: list },
  { method: "POST", path: "/os-keypairs", handle: create },
  { method: "GET", path: "/os-keypairs/:name", handle: show },
  { method: "DELETE", path: "/os-keypairs/:name", handle: destroy },
];

/**
 * Returns the owner of the keys: the caller or, since 2.10, the user that an administrator names. @throws {HttpError} 403
 */
function ownerOf(call: Call, rule: string, named: string | undefined): string {
  const own = call.credentials.userId;
  const userId = call.version >= 10 ? (named ?? own) : own;
  if (userId !== own && !call.isAdmin) {
    throw denied(`os_compute_api:os-keypairs:${rule}`);
  }
  return userId;
}

function list({ store }: ComputeDeps, call: Call): ComputeResponse {
  call.checkQuery(LIST);
  const { version, query, links } = call;
  const all = store.keyPairs.list(ownerOf(call, "index", query.get("user_id")));
  if (version < 35) {
    return { body: { keypairs: all.map((pair) => ({ keypair: brief(pair, version) })) } };
  }
  const page = readPage(call);
  const found = takePage(all, page, ({ name }) => name);
  const last = found.at(-1);
  const more = last !== undefined && found.length === page.limit;
  return {
    body: {
      keypairs: found.map((pair) => ({ keypair: brief(pair, version) })),
      ...(more ? { keypairs_links: links.next("os-keypairs", query, last.name) } : {}),
    },
  };
}

function show({ store }: ComputeDeps, call: Call): ComputeResponse {
  call.checkQuery(ONE);
  const userId = ownerOf(call, "show", call.query.get("user_id"));
  const pair = store.keyPairs.get(userId, call.param("name"));
  if (!pair) {
    throw absent(call, userId);
  }
  const { id, createdAt } = pair;
  const row = { id, created_at: isoMicroseconds(createdAt), updated_at: null, deleted: false, deleted_at: null };
  return { body: { keypair: { ...brief(pair, call.version), user_id: userId, ...row } } };
}

async function create(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  const { name, type = "ssh", public_key: publicKey, user_id: named } = call.body(CREATE).keypair;
  const userId = ownerOf(call, "create", named);
  if (call.version < 92 && !/^[a-zA-Z0-9_ -]+$/.test(name)) {
    throw invalid("Keypair name contains unsafe characters");
  }
  assertKeyPairQuota(deps, call, userId);
  const made = publicKey === undefined ? await make(deps, type, userId) : { publicKey: publicKey };
  const fingerprint = fingerprintOf(made.publicKey, type, deps);
  const pair = deps.store.transaction(() => {
    // Other requests may have created key pairs while this one was generated.
    assertKeyPairQuota(deps, call, userId);
    return deps.store.keyPairs.create({ userId, name, type, publicKey: made.publicKey, fingerprint });
  });
  const secret = "privateKey" in made ? { private_key: made.privateKey } : {};
  return {
    status: call.version >= 2 ? 201 : 200,
    body: { keypair: { ...brief(pair, call.version), user_id: userId, ...secret } },
  };
}

function destroy({ store }: ComputeDeps, call: Call): ComputeResponse {
  call.checkQuery(ONE);
  const userId = ownerOf(call, "delete", call.query.get("user_id"));
  if (!store.keyPairs.destroy(userId, call.param("name"))) {
    throw absent(call, userId);
  }
  return { status: call.version >= 2 ? 204 : 202 };
}

function make({ keys, clock }: ComputeDeps, type: KeyPair["type"], userId: string) {
  return type === "ssh" ? keys.ssh("Generated-by-Nova") : keys.x509(userId, clock.now());
}

/** @throws {HttpError} 400 */
function fingerprintOf(publicKey: string, type: KeyPair["type"], { digests, keys }: ComputeDeps): string {
  const found = type === "ssh" ? sshFingerprint(publicKey, digests) : keys.certificateFingerprint(publicKey);
  if (found === undefined) {
    throw invalid(
      type === "ssh"
        ? "failed to generate fingerprint"
        : "failed to generate X509 fingerprint. Error message: it is not a certificate as PEM",
    );
  }
  return found;
}

const invalid = (reason: string): HttpError => badRequest(`Keypair data is invalid: ${reason}`);

function absent(call: Call, userId: string): HttpError {
  return notFound(`Keypair ${call.param("name")} not found for user ${userId}`);
}

function brief({ name, type, publicKey, fingerprint }: KeyPair, version: number): { readonly [key: string]: Json } {
  return { name, public_key: publicKey, fingerprint, ...(version >= 2 ? { type } : {}) };
}

/** Returns undefined if it is not an OpenSSH public key. */
function sshFingerprint(publicKey: string, digests: Digests): string | undefined {
  const [kind = "", encoded = ""] = publicKey.split(" ");
  const blob = Buffer.from(encoded, "base64");
  const expectedParts = PARTS[kind];
  const parts = partsOf(blob);
  if (expectedParts === undefined || parts?.[0]?.toString() !== kind || parts.length !== expectedParts + 1) {
    return undefined;
  }
  const digest = digests.running("md5");
  digest.update(blob);
  return digest.hex().match(/../g)?.join(":");
}

/** Splits the key into its parts. Returns undefined if it is truncated. */
function partsOf(blob: Buffer): readonly Buffer[] | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; at < blob.length; ) {
    if (blob.length - at < 4) {
      return undefined;
    }
    const end = at + 4 + blob.readUInt32BE(at);
    if (end > blob.length) {
      return undefined;
    }
    parts.push(blob.subarray(at + 4, end));
    at = end;
  }
  return parts;
}

function body(properties: Readonly<Record<string, Schema>>, required: readonly string[] = ["name"]): Schema {
  return {
    type: "object",
    properties: { keypair: { type: "object", properties, required, additionalProperties: false } },
    required: ["keypair"],
    additionalProperties: false,
  };
}

function querySchema(properties: Readonly<Record<string, Schema>>, additionalProperties: boolean): Schema {
  return { type: "object", properties, additionalProperties };
}
