import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startCluster } from "compute-agent/cluster";

let cloud;
before(async () => {
  cloud = await startCluster({ hosts: 2, time: "virtual" });
});
after(() => cloud?.stop());

test("a server is created and becomes active", async () => {
  const { images } = await (await cloud.fetch("image", "/v2/images?name=cirros")).json();
  const server = { name: "vm1", flavorRef: "1", imageRef: images[0].id, networks: "none" };
  const created = await cloud.fetch("compute", "/servers", {
    method: "POST",
    headers: { "OpenStack-API-Version": "compute 2.37" },
    body: JSON.stringify({ server }),
  });
  assert.equal(created.status, 202);
  await cloud.settled();
  const { servers } = await (await cloud.fetch("compute", "/servers/detail")).json();
  assert.deepEqual(
    servers.map(({ name, status }) => ({ name, status })),
    [{ name: "vm1", status: "ACTIVE" }],
  );
});

test("the program under test gets a token with the administrator's credentials", async () => {
  const { authUrl, username, password, projectName } = cloud.credentials;
  const domain = { id: "default" };
  const identity = { methods: ["password"], password: { user: { name: username, domain, password } } };
  cloud.clearRequests();
  const response = await fetch(`${authUrl}/auth/tokens`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ auth: { identity, scope: { project: { name: projectName, domain } } } }),
  });
  assert.equal(response.status, 201);
  const logins = cloud.requests.filter(({ service, method }) => service === "identity" && method === "POST");
  assert.deepEqual(
    logins.map(({ path, status, user }) => ({ path, status, user })),
    [{ path: "/v3/auth/tokens", status: 201, user: "admin" }],
  );
});

test("a host dies, and comes back", async () => {
  await cloud.hosts("devstack1").kill();
  await cloud.advance(120);
  assert.equal(await cloud.hosts("devstack1").state(), "killed");
  await cloud.hosts("devstack1").start();
  await cloud.settled();
  assert.deepEqual(await cloud.audit(), []);
});
