import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Cluster, startCluster } from "../../../src/cluster/index.js";
import { openrc } from "../../../src/control-plane/identity/openrc.js";

let cloud: Cluster;
beforeAll(async () => {
  cloud = await startCluster({ hosts: 1, time: "virtual" });
});
afterAll(() => cloud?.stop());

function logins(): number {
  return cloud.requests.filter(
    ({ path, method, user }) => path === "/v3/auth/tokens" && method === "POST" && user === "admin",
  ).length;
}

async function names(response: Response): Promise<readonly string[]> {
  const { servers } = (await response.json()) as { readonly servers: readonly { readonly name: string }[] };
  return servers.map(({ name }) => name);
}

describe("the administrator's access to a cluster", () => {
  it("has credentials as in clouds.yaml, also as environment variables", () => {
    const { authUrl, username, password, projectName, userDomainId, projectDomainId, region, env } = cloud.credentials;
    expect(authUrl).toBe(`${cloud.url}/identity/v3`);
    expect([username, projectName, userDomainId, projectDomainId, region]).toEqual([
      "admin",
      "admin",
      "default",
      "default",
      "RegionOne",
    ]);
    expect(password).toMatch(/^\w{20,}$/);
    const exported = Object.entries(env).map(([name, value]) => `export ${name}=${value}`);
    expect(openrc(cloud.cloudsYaml, "devstack")?.split("\n").slice(1)).toEqual(exported);
  });

  it("gets one token for concurrent and later callers", async () => {
    cloud.clearRequests();
    const tokens = await Promise.all([cloud.token(), cloud.token()]);
    await cloud.fetch("compute", "/servers");
    expect(new Set([...tokens, await cloud.token()]).size).toBe(1);
    expect(logins()).toBeLessThanOrEqual(1);
  });

  it("gets a new token shortly before the old one expires", async () => {
    const old = await cloud.token();
    await cloud.advance(3_600 - 120);
    expect(await cloud.token()).toBe(old);
    await cloud.advance(90);
    expect(await cloud.token()).not.toBe(old);
  });

  it("sends requests to each service, by type or by its project's name", async () => {
    const paths = {
      compute: "/servers",
      nova: "servers",
      placement: "/resource_providers",
      identity: "/users",
      keystone: "users",
      image: "/v2/images",
      glance: "v2/images",
      network: "/v2.0/networks",
      neutron: "/v2.0/networks",
      baremetal: "/v1/nodes",
      "bare-metal": "/v1/nodes",
    };
    const requests = Object.entries(paths).map(async ([service, path]) => [service, await cloud.fetch(service, path)]);
    const statuses = (await Promise.all(requests)).map(([service, response]) => [
      service,
      (response as Response).status,
    ]);
    expect(statuses).toEqual(Object.keys(paths).map((service) => [service, 200]));
  });

  it("takes a request's method, body and microversion, and paths and links as the API returns them", async () => {
    const { images } = (await (await cloud.fetch("image", "/v2/images")).json()) as {
      readonly images: readonly { readonly id: string }[];
    };
    const created = await cloud.fetch("compute", "/servers", {
      method: "POST",
      headers: { "OpenStack-API-Version": "compute 2.74" },
      body: JSON.stringify({ server: { name: "vm1", flavorRef: "1", imageRef: images[0]?.id, networks: "none" } }),
    });
    expect(created.status).toBe(202);
    await cloud.settled();
    const paths = [
      "/servers?name=vm1",
      "servers?name=vm1",
      "/v2.1/servers?name=vm1",
      "/compute/v2.1/servers?name=vm1",
      `${cloud.url}/compute/v2.1/servers?name=vm1`,
    ];
    const found = await Promise.all(paths.map(async (path) => names(await cloud.fetch("compute", path))));
    expect(found).toEqual(paths.map(() => ["vm1"]));
    expect((await cloud.fetch("compute", "")).url).toBe(`${cloud.url}/compute/v2.1`);
    expect((await cloud.fetch("compute", "/servers/unknown")).status).toBe(404);
  });

  it("renews a token that was revoked, and repeats the request", async () => {
    const old = await cloud.token();
    const revoked = await cloud.fetch("identity", "/auth/tokens", {
      method: "DELETE",
      headers: { "X-Subject-Token": old },
    });
    expect(revoked.status).toBe(204);
    const responses = await Promise.all([cloud.fetch("compute", "/servers"), cloud.fetch("network", "/v2.0/ports")]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    expect(await cloud.token()).not.toBe(old);
  });

  it("sends another user's token unchanged, and returns the rejection", async () => {
    const own = await cloud.token();
    cloud.clearRequests();
    const response = await cloud.fetch("compute", "/servers", { headers: { "X-Auth-Token": "invalid" } });
    expect(response.status).toBe(401);
    expect(cloud.requests.filter(({ service }) => service === "compute")).toHaveLength(1);
    expect(await cloud.token()).toBe(own);
  });

  it("finds a service that was registered after the login", async () => {
    const post = async (path: string, body: unknown) =>
      (await (await cloud.fetch("identity", path, { method: "POST", body: JSON.stringify(body) })).json()) as {
        readonly service: { readonly id: string };
      };
    const server = createServer((request, response) => {
      response.end(`${request.url} ${request.headers["x-auth-token"] !== undefined}`);
    });
    const port = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve((server.address() as { readonly port: number }).port));
    });
    try {
      await expect(cloud.fetch("load-balancer", "/")).rejects.toThrow(
        /found no service load-balancer in the catalog, expected one of identity \(keystone\), compute \(nova\),/,
      );
      const { service } = await post("/services", { service: { type: "load-balancer", name: "octavia" } });
      const endpoint = { interface: "public", service_id: service.id, url: `http://127.0.0.1:${port}/lb/` };
      await post("/endpoints", { endpoint: { ...endpoint, region_id: "RegionOne" } });
      const bodies = await Promise.all(
        ["load-balancer", "octavia"].map(async (name) => (await cloud.fetch(name, "v2/lb")).text()),
      );
      expect(bodies).toEqual(["/lb/v2/lb true", "/lb/v2/lb true"]);
    } finally {
      server.close();
    }
  });

  it("does not send the token to another server", async () => {
    await expect(cloud.fetch("compute", "http://127.0.0.1:9/servers")).rejects.toThrow(
      `found http://127.0.0.1:9/servers, expected a path or a URL of the compute service at ${cloud.url}/compute/v2.1`,
    );
    expect((await cloud.fetch("compute", "//127.0.0.1:9/servers")).url).toBe(
      `${cloud.url}/compute/v2.1//127.0.0.1:9/servers`,
    );
  });

  it("follows an aborted signal", async () => {
    await expect(cloud.fetch("compute", "/servers", { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
  });

  it("keeps working after a reset", async () => {
    const token = await cloud.token();
    await cloud.reset();
    expect(await names(await cloud.fetch("compute", "/servers"))).toEqual([]);
    expect(await cloud.token()).toBe(token);
  });

  it("reports a rejected password, and a cluster that was stopped", async () => {
    const other = await startCluster({ hosts: 1 });
    const { users } = (await (await other.fetch("identity", "/users?name=admin")).json()) as {
      readonly users: readonly { readonly id: string }[];
    };
    const body = JSON.stringify({ user: { password: "another-password" } });
    expect((await other.fetch("identity", `/users/${users[0]?.id}`, { method: "PATCH", body })).status).toBe(200);
    await expect(other.fetch("compute", "/servers")).rejects.toThrow(
      /^Identity at .*\/identity\/v3\/auth\/tokens responded with 401, expected 201 and a token for user admin in project admin: /,
    );
    await other.stop();
    await expect(other.token()).rejects.toThrow("the cluster does not run");
  });
});
