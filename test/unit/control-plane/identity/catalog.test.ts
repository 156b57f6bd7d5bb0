import { beforeEach, expect, test } from "vitest";
import { IdentityWorld } from "./identity-world.js";

let world: IdentityWorld;

beforeEach(async () => {
  world = await IdentityWorld.open();
});

const PROJECT = { project: { name: "admin", domain: { id: "default" } } };

test("a service with an endpoint is in the catalog of new tokens, with the project's id in its address", async () => {
  const service = await world.make("service", { type: "object-store", name: "swift" });
  const url = "http://c/v3/$(project_id)s";
  await world.make("endpoint", { service_id: service, interface: "public", url, region: "elsewhere" });
  expect((await world.ask("GET", "regions/elsewhere")).status).toBe(200);
  const catalog = async () => {
    const reply = await world.ask("GET", "auth/catalog", undefined, await world.adminToken(PROJECT));
    return (reply.json("catalog") as { type: string }[]).filter(({ type }) => type === "object-store");
  };
  expect(await catalog()).toMatchObject([
    { name: "swift", endpoints: [{ url: `http://c/v3/${world.api.projectId("admin")}`, region: "elsewhere" }] },
  ]);
  await world.ask("PATCH", `services/${service}`, { service: { enabled: false } });
  expect(await catalog()).toEqual([]);
  await world.ask("DELETE", `services/${service}`);
  expect((await world.ask("GET", `endpoints?service_id=${service}`)).json("endpoints")).toEqual([]);
});

test("the catalog of a token reflects changes since the last request", async () => {
  const token = await world.adminToken(PROJECT);
  const types = async () => {
    const tokenRequest = { url: "/identity/v3/auth/tokens", token, headers: { "x-subject-token": token } };
    const reply = await world.api.ask(tokenRequest);
    return (reply.json("token", "catalog") as { type: string }[]).map(({ type }) => type);
  };
  const ada = await world.user("ada");
  const project = await world.make("project", { name: "before" });
  await world.grant(`projects/${project}`, `users/${ada}`, "member");
  const adas = await world.token(ada);
  const projects = async () => await world.names("auth/projects", adas);
  expect(await projects()).toEqual(["before"]);
  expect(await types()).not.toContain("object-store");
  const service = await world.make("service", { type: "object-store", name: "swift" });
  expect(await types()).toContain("object-store");
  await world.ask("DELETE", `services/${service}`);
  expect(await types()).not.toContain("object-store");
  await world.ask("PATCH", `projects/${project}`, { project: { name: "after" } });
  expect(await projects()).toEqual(["after"]);
  await world.grant(`projects/${project}`, `users/${ada}`, "member", "DELETE");
  expect(await projects()).toEqual([]);
});

test("each client gets the services at the address that it used", async () => {
  const token = await world.adminToken(PROJECT);
  const urlBy = async (root: string) => {
    const headers = { "x-auth-token": token };
    const request = { method: "GET", path: "/v3/auth/catalog", query: "", headers, body: "" };
    const response = await world.api.apis.services["/identity"]({ ...request, baseUrl: `${root}/identity` });
    const { catalog } = JSON.parse(response.body) as { catalog: { endpoints: { url: string }[] }[] };
    return catalog[0]?.endpoints[0]?.url;
  };
  for (const root of ["http://a", "http://b", "http://c", "http://d", "http://e", "http://a"]) {
    expect(await urlBy(root)).toBe(`${root}/identity/v3`);
  }
});

test("the cluster's own services are read-only", async () => {
  const [own] = (await world.ask("GET", "services?type=compute")).json("services") as { id: string }[];
  const message = `The service ${own?.id} comes with the cluster and is neither changed nor deleted.`;
  expect(await world.getRejection("DELETE", `services/${own?.id}`)).toEqual([403, message]);
  expect(await world.getRejection("PATCH", `services/${own?.id}`, { service: { name: "x" } })).toEqual([403, message]);
});

test("regions are nested without cycles, and cannot be deleted while they have an endpoint", async () => {
  await world.make("region", { id: "a" });
  await world.make("region", { id: "b", parent_region_id: "a" });
  expect(await world.getRejection("PATCH", "regions/a", { region: { parent_region_id: "b" } })).toEqual([
    400,
    "The specified parent region b would create a circular region hierarchy.",
  ]);
  expect((await world.getRejection("POST", "regions", { region: { id: "a" } }))[0]).toBe(409);
  expect((await world.ask("DELETE", "regions/a")).status).toBe(204);
  expect((await world.ask("GET", "regions/b")).status).toBe(404);
  expect(await world.getRejection("DELETE", "regions/RegionOne")).toEqual([
    403,
    "Unable to delete region RegionOne because it or its child regions have associated endpoints.",
  ]);
});

test.each([
  [
    { interface: "public", service_id: "nope", url: "http://x" },
    /^Expecting to find endpoint service_id in service table\./,
  ],
  [
    { interface: "pub", service_id: "x", url: "http://x" },
    /^Invalid input for field 'interface': 'pub' is not one of \['admin', 'internal', 'public'\]$/,
  ],
])("the endpoint %j is refused", async (endpoint, message) => {
  const [status, text] = await world.getRejection("POST", "endpoints", { endpoint });
  expect(status).toBe(400);
  expect(text).toMatch(message);
});

test.each([
  ["policies", "policy", { blob: "{}", type: "text/plain" }, { blob: "[]" }],
  ["OS-OAUTH1/consumers", "consumer", { description: "c" }, { description: "d" }],
  ["OS-EP-FILTER/endpoint_groups", "endpoint_group", { name: "g", filters: {} }, { name: "h" }],
])("%s are kept", async (path, kind, members, change) => {
  const id = await world.make(kind, members, path);
  const changed = await world.ask("PATCH", `${path}/${id}`, { [kind]: change });
  expect(changed.json(kind)).toMatchObject({ ...members, ...change });
  expect((await world.ask("GET", `${path}/${id}`)).json(kind)).toEqual(changed.json(kind));
  expect((await world.ask("DELETE", `${path}/${id}`)).status).toBe(204);
  expect((await world.ask("GET", `${path}/${id}`)).status).toBe(404);
});

test("credentials and EC2 keys belong to their user", async () => {
  const [ada, eve] = [await world.user("ada"), await world.user("eve")];
  const [adas, eves] = [await world.token(ada), await world.token(eve)];
  const made = await world.ask(
    "POST",
    `users/${ada}/credentials/OS-EC2`,
    { tenant_id: world.api.projectId("demo") },
    adas,
  );
  const { access } = made.json("credential") as { access: string };
  const path = `users/${ada}/credentials/OS-EC2/${access}`;
  expect((await world.ask("GET", path, undefined, adas)).json("credential")).toEqual(made.json("credential"));
  expect((await world.ask("GET", path, undefined, eves)).status).toBe(403);
  expect((await world.ask("GET", "credentials", undefined, adas)).json("credentials")).toHaveLength(1);
  expect((await world.ask("GET", "credentials", undefined, eves)).json("credentials")).toEqual([]);
  expect((await world.ask("DELETE", path, undefined, adas)).status).toBe(204);
  expect((await world.ask("GET", path, undefined, adas)).status).toBe(404);
});
