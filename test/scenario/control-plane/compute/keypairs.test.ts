import { createHash, createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

const ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHUWjb0A9Jmc0XqpbdGLOeC+ZLfo4U9nPZkaiUkqZdrF me@here";
const PATH = "/compute/v2.1/os-keypairs";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
});

function create(keypair: Record<string, unknown>, version = 91, token?: string) {
  return world.ask({ method: "POST", url: PATH, body: { keypair }, version, token });
}

function fingerprintOf(line: string): string {
  const blob = Buffer.from(line.split(" ")[1] ?? "", "base64");
  return createHash("md5").update(blob).digest("hex").match(/../g)?.join(":") ?? "";
}

describe("key pairs", () => {
  test("an imported one is returned with its fingerprint, listed by name, and deleted", async () => {
    const created = await create({ name: "mine", public_key: ED25519 });
    expect(created.status).toBe(201);
    const pair = { name: "mine", public_key: ED25519, fingerprint: fingerprintOf(ED25519), type: "ssh" };
    expect(created.json("keypair")).toEqual({ ...pair, user_id: world.userId("admin") });
    await create({ name: "a", public_key: ED25519 });
    const listed = (await world.ask({ url: PATH, version: 91 })).json("keypairs") as { keypair: { name: string } }[];
    expect(listed.map(({ keypair }) => keypair.name)).toEqual(["a", "mine"]);
    const keypairView = (await world.ask({ url: `${PATH}/mine`, version: 91 })).json("keypair");
    expect(keypairView).toMatchObject({ ...pair, id: 1, deleted: false, deleted_at: null, updated_at: null });
    expect((await world.ask({ method: "DELETE", url: `${PATH}/mine`, version: 91 })).status).toBe(204);
    const gone = await world.ask({ method: "DELETE", url: `${PATH}/mine` });
    expect([gone.status, gone.message]).toEqual([404, `Keypair mine not found for user ${world.userId("admin")}`]);
  });

  test("the private key of a generated one is returned once", async () => {
    const made = await create({ name: "new" }, 1);
    expect(made.status).toBe(200);
    const { public_key, private_key, type } = made.json("keypair") as Record<string, string>;
    expect(public_key).toMatch(/^ssh-rsa \S+ Generated-by-Nova$/);
    expect(private_key).toMatch(/^-----BEGIN RSA PRIVATE KEY-----\n/);
    expect(type, "before 2.2").toBeUndefined();
    const { n } = createPublicKey(createPrivateKey(private_key ?? "")).export({ format: "jwk" });
    const modulus = Buffer.from(public_key?.split(" ")[1] ?? "", "base64").subarray(-256);
    expect(modulus.toString("base64url")).toBe(n);
    expect((await world.ask({ url: `${PATH}/new` })).json("keypair")).not.toHaveProperty("private_key");
  });

  test("certificates can be imported and generated", async () => {
    const made = (await create({ name: "win", type: "x509" })).json("keypair") as Record<string, string>;
    const certificate = new X509Certificate(made.public_key ?? "");
    expect(certificate.subject).toBe(`CN=${world.userId("admin")}`);
    expect(certificate.subjectAltName).toContain("@localhost");
    // Node parses PKCS#12 only if its MAC is valid, and accepts a key only with the matching certificate.
    const pfx = Buffer.from(made.private_key ?? "", "base64");
    expect(pfx.includes(certificate.raw)).toBe(true);
    expect(() => createSecureContext({ pfx, passphrase: "" })).not.toThrow();
    expect(() => createSecureContext({ pfx, passphrase: "other" })).toThrow("mac verify failure");
    const imported = await create({ name: "win2", type: "x509", public_key: made.public_key });
    expect(imported.json("keypair", "fingerprint")).toBe(made.fingerprint);
    expect(made.fingerprint).toMatch(/^([0-9a-f]{2}:){19}[0-9a-f]{2}$/);
  });

  test.each([
    [{ name: "mine", public_key: "ssh-rsa AAAA" }, 1, "Keypair data is invalid: failed to generate fingerprint"],
    [{ name: "mine", public_key: ED25519.slice(0, 60) }, 1, "Keypair data is invalid: failed to generate fingerprint"],
    [{ name: "mine", public_key: "ssh-rsa" }, 1, "Keypair data is invalid: failed to generate fingerprint"],
    [{ name: "mine", type: "x509", public_key: ED25519 }, 2, expect.stringContaining("X509 fingerprint")],
    [{ name: "a@b", public_key: ED25519 }, 91, "Keypair data is invalid: Keypair name contains unsafe characters"],
    [{ name: "mine" }, 92, expect.stringContaining("'public_key' is a required property")],
  ])("%o at 2.%i is rejected", async (keypair, version, message) => {
    const reply = await create(keypair, version);
    expect([reply.status, reply.message]).toEqual([400, message]);
    expect(world.store.keyPairs.list(world.userId("admin"))).toEqual([]);
  });

  test("a user's names are unique, and 2.92 allows more characters", async () => {
    expect((await create({ name: "a@b.c", public_key: ED25519 }, 92)).status).toBe(201);
    const again = await create({ name: "a@b.c", public_key: ED25519 }, 92);
    expect([again.status, again.message]).toEqual([409, "Key pair 'a@b.c' already exists."]);
    expect((await create({ name: "a@b.c", public_key: ED25519 }, 92, await world.token("demo"))).status).toBe(201);
  });

  test("only administrators may read and create those of other users, since 2.10", async () => {
    const demo = world.userId("demo");
    const admin = world.userId("admin");
    expect((await create({ name: "for", public_key: ED25519, user_id: demo }, 10)).status).toBe(201);
    const token = await world.token("demo");
    const own = (await world.ask({ url: PATH, token })).json("keypairs") as unknown[];
    expect(own).toHaveLength(1);
    expect((await world.ask({ url: `${PATH}?user_id=${demo}`, version: 10 })).json("keypairs")).toHaveLength(1);
    expect((await world.ask({ url: `${PATH}?user_id=${demo}`, version: 9 })).json("keypairs")).toHaveLength(0);
    const denied = await world.ask({ url: `${PATH}?user_id=${admin}`, version: 10, token });
    expect([denied.status, denied.message]).toEqual([
      403,
      "Policy doesn't allow os_compute_api:os-keypairs:index to be performed.",
    ]);
    expect((await create({ name: "x", public_key: ED25519, user_id: admin }, 10, token)).status).toBe(403);
  });

  test("are listed in pages since 2.35", async () => {
    for (const name of ["c", "a", "b"]) {
      await create({ name, public_key: ED25519 });
    }
    const first = await world.ask({ url: `${PATH}?limit=2`, version: 35 });
    const namesIn = (reply: typeof first) =>
      (reply.json("keypairs") as { keypair: { name: string } }[]).map(({ keypair }) => keypair.name);
    expect(namesIn(first)).toEqual(["a", "b"]);
    const { href } = first.json("keypairs_links", 0) as { readonly href: string };
    const second = await world.ask({ url: href.slice(href.indexOf("/compute")), version: 35 });
    expect(namesIn(second)).toEqual(["c"]);
    expect(second.json()).not.toHaveProperty("keypairs_links");
  });
});

describe("a server", () => {
  beforeEach(() => {
    world.flavor();
    world.host("devstack1");
  });

  test("has the public key at the time of its creation", async () => {
    await create({ name: "mine", public_key: ED25519 });
    const server = { name: "vm", flavorRef: "1", imageRef: CIRROS, key_name: "mine" };
    const made = await world.ask({ method: "POST", url: "/compute/v2.1/servers", body: { server } });
    expect(made.status).toBe(202);
    const uuid = made.json("server", "id") as string;
    await world.ask({ method: "DELETE", url: `${PATH}/mine` });
    expect((await world.ask({ url: `/compute/v2.1/servers/${uuid}` })).json("server", "key_name")).toBe("mine");
    const [request] = world.store.requests.buildRequests(world.projectId("admin"));
    expect(request?.instance).toMatchObject({ keyName: "mine", keyData: ED25519 });
    const other = await world.ask({ method: "POST", url: "/compute/v2.1/servers", body: { server } });
    expect([other.status, other.message]).toEqual([400, "Invalid key_name provided."]);
  });

  test("gets another key or none in a rebuild, since 2.54", async () => {
    await create({ name: "mine", public_key: ED25519 });
    const instance = world.server("devstack1", { userId: world.userId("admin") });
    const rebuild = (key_name: string | null, version: number) => {
      const url = `/compute/v2.1/servers/${instance.uuid}/action`;
      const body = { rebuild: { imageRef: CIRROS, key_name } };
      return world.ask({ method: "POST", url, body, version });
    };
    expect((await rebuild("mine", 53)).status).toBe(400);
    expect((await rebuild("other", 54)).message).toBe("Invalid key_name provided.");
    expect((await rebuild("mine", 54)).json("server", "key_name")).toBe("mine");
    expect(world.store.instances.get(instance.uuid)).toMatchObject({ keyName: "mine", keyData: ED25519 });
    world.store.instances.save(instance.uuid, { taskState: null, vmState: "active" });
    expect((await rebuild(null, 54)).json("server", "key_name")).toBeNull();
    expect(world.store.instances.get(instance.uuid)).toMatchObject({ keyName: null, keyData: null });
  });
});
