import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startCluster } from "compute-agent/cluster";

let cloud;
before(async () => {
  cloud = await startCluster({ hosts: 2, time: "virtual" });
});
after(() => cloud?.stop());

test("the program under test gets a token", async () => {
  const [, password] = /password: "(\w+)"/.exec(cloud.cloudsYaml);
  const domain = { id: "default" };
  const identity = { methods: ["password"], password: { user: { name: "admin", domain, password } } };
  const response = await fetch(`${cloud.url}/identity/v3/auth/tokens`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ auth: { identity, scope: { project: { name: "admin", domain } } } }),
  });
  assert.equal(response.status, 201);
  const asked = cloud.requests.filter(({ service, method }) => service === "identity" && method === "POST");
  assert.deepEqual(
    asked.map(({ path, status, user }) => ({ path, status, user })),
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
