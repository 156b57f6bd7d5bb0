import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import type { KeyPair } from "../../store/key-pairs.js";
import type { Call, ComputeResponse, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, type Fault, notFound } from "../api/fault.js";
import { readPage, takePage } from "../api/paging.js";
import { denied } from "../api/policy.js";
import { assertKeyPairQuota } from "../quotas/request-quota.js";
import { sshFingerprint } from "./fingerprint.js";
import { CREATE, LIST, ONE } from "./schemas.js";

/** Public keys of users, which servers begin with. The private half of one that is made here is told once. */
export const KEYPAIR_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-keypairs", handle: list },
  { method: "POST", path: "/os-keypairs", handle: create },
  { method: "GET", path: "/os-keypairs/:name", handle: show },
  { method: "DELETE", path: "/os-keypairs/:name", handle: destroy },
];

/** The user whose keys these are: oneself, or since 2.10 whom an administrator names. @throws {Fault} 403 */
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
    // Others may have come while the key was made.
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

/** @throws {Fault} 400 */
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

const invalid = (reason: string): Fault => badRequest(`Keypair data is invalid: ${reason}`);

function absent(call: Call, userId: string): Fault {
  return notFound(`Keypair ${call.param("name")} not found for user ${userId}`);
}

function brief({ name, type, publicKey, fingerprint }: KeyPair, version: number): { readonly [key: string]: Json } {
  return { name, public_key: publicKey, fingerprint, ...(version >= 2 ? { type } : {}) };
}
