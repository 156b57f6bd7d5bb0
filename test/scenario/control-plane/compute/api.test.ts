import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { COMPUTE_ROUTES } from "../../../../src/control-plane/compute/compute-api.js";
import { property } from "../../../fixtures/property.js";
import { ApiWorld, CIRROS, ROOT } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
});

describe("version discovery", () => {
  test("GET / lists the versions without a token", async () => {
    const reply = await world.ask({ url: "/compute/", token: "" });
    expect(reply.json("versions")).toMatchObject([
      { id: "v2.0", status: "DEPRECATED", version: "", min_version: "" },
      { id: "v2.1", status: "CURRENT", version: "2.96", min_version: "2.1" },
    ]);
  });

  test.each(["/compute/v2.1", "/compute/v2.1/"])("GET %s returns one version without a token", async (url) => {
    const reply = await world.ask({ url, token: "" });
    expect(reply.json("version")).toMatchObject({ id: "v2.1", version: "2.96" });
    expect(reply.headers["openstack-api-version"]).toBe("compute 2.1");
  });
});

describe("paths", () => {
  test.each(["/os-simple-tenant-usage/", "/servers/", "/servers//", "/flavors/1/", "/servers//action"])(
    "%s has no route: a trailing slash counts, and repeated slashes are one",
    async (path) => {
      const reply = await world.ask({ url: `/compute/v2.1${path}` });
      expect(reply.status).toBe(404);
    },
  );

  test.each(["//v2.1/servers", "/v2.1//servers", "/v2.1//servers///detail", "/v2.1/PROJECT//servers"])(
    "%s is served: repeated slashes count as one",
    async (path) => {
      const reply = await world.ask({ url: `/compute${path.replace("PROJECT", world.projectId("admin"))}` });
      expect([reply.status, reply.json("servers")]).toEqual([200, []]);
    },
  );

  test("a path with another project's id is a malformed URL if the rest has a route", async () => {
    const other = world.projectId("demo");
    const served = await world.ask({ url: `/compute/v2.1/${other}/servers` });
    const message = `Malformed request URL: URL's project_id '${other}' doesn't match Context's project_id '${world.projectId("admin")}'`;
    expect([served.status, served.message]).toEqual([400, message]);
    expect((await world.ask({ url: `/compute/v2.1/${other}/none` })).status).toBe(404);
  });
});

describe("links", () => {
  type Linked = { readonly [name: string]: { readonly links?: readonly { readonly href: string }[] } };
  const hrefs = (found: unknown) =>
    JSON.stringify(found)
      .match(/http:[^"]*/g)
      ?.toSorted();

  test.each(["v2.1", "v2"])("have the project's id if the request's URL has it (%s)", async (api) => {
    const project = world.projectId("admin");
    const { uuid } = world.server("devstack1");
    const reply = await world.ask({ url: `/compute/${api}/${project}/servers/${uuid}` });
    const root = `${ROOT}/compute`;
    expect(hrefs(reply.json())).toEqual(
      [
        `${root}/${project}/flavors/1`,
        `${root}/${project}/images/${CIRROS}`,
        `${root}/${project}/servers/${uuid}`,
        `${root}/${api}/${project}/servers/${uuid}`,
      ].toSorted(),
    );
    const plain = await world.ask({ url: `/compute/${api}/servers/${uuid}` });
    expect(hrefs(plain.json())).toEqual([
      `${root}/flavors/1`,
      `${root}/images/${CIRROS}`,
      `${root}/servers/${uuid}`,
      `${root}/${api}/servers/${uuid}`,
    ]);
    // Nova searches the project's id anywhere in the URL.
    const query = await world.ask({ url: `/compute/${api}/flavors?limit=1&project_id=${project}` });
    expect(hrefs(query.json("flavors"))).toEqual(
      [`${root}/${project}/flavors/1`, `${root}/${api}/${project}/flavors/1`].toSorted(),
    );
  });

  test.each(["flavors", "flavors/detail", "images", "servers", "servers/detail", "os-hypervisors", "os-keypairs"])(
    "to the next page of %s have the project's id",
    async (path) => {
      const project = world.projectId("admin");
      world.server("devstack1");
      await world.ask({ method: "POST", url: "/compute/v2.1/os-keypairs", body: { keypair: { name: "key" } } });
      const url = `/compute/v2.1/${project}/${path}?limit=1`;
      const reply = await world.ask({ url, version: path === "images" ? 35 : 53 });
      const links = Object.entries(reply.json() as Linked).find(([name]) => name.endsWith("_links"))?.[1];
      expect(hrefs(links)).toEqual([expect.stringContaining(`${ROOT}${url}&marker=`)]);
    },
  );

  test("to the next page have sorted parameters, the marker last, and one value of a repeated parameter", async () => {
    const { uuid } = world.server("devstack1", { vmState: "error" });
    world.server("devstack1");
    const next = async (query: string) => {
      const reply = await world.ask({ url: `/compute/v2.1/servers?${query}` });
      return String(reply.json("servers_links", 0, "href")).split("?")[1];
    };
    const last = (await next("limit=1"))?.split("marker=")[1];
    expect(await next("status=error&limit=1&status=active")).toBe(`limit=1&status=error&marker=${last}`);
    expect(await next(`status=error&marker=${last}&limit=1`)).toBe(`limit=1&marker=${uuid}&status=error`);
    const flavors = await world.ask({ url: "/compute/v2.1/flavors?q=~*a%20b&limit=1" });
    expect(flavors.json("flavors_links", 0, "href")).toBe(`${ROOT}/compute/v2.1/flavors?limit=1&q=~%2Aa+b&marker=1`);
  });
});

describe("microversions", () => {
  const ask = (headers: Record<string, string>) => world.ask({ url: "/compute/v2.1/flavors", headers });
  const both = (minor: number) => ({
    "openstack-api-version": `compute 2.${minor}`,
    "x-openstack-nova-api-version": `2.${minor}`,
    vary: "OpenStack-API-Version, X-OpenStack-Nova-API-Version",
  });

  test.each([
    [{}, 1],
    [{ "openstack-api-version": "compute 2.55" }, 55],
    [{ "openstack-api-version": "placement 1.9, compute 2.55" }, 55],
    [{ "openstack-api-version": "placement 1.9" }, 1],
    [{ "x-openstack-nova-api-version": "2.55" }, 55],
    [{ "openstack-api-version": "compute 2.56", "x-openstack-nova-api-version": "2.55" }, 56],
    [{ "openstack-api-version": "compute latest" }, 96],
  ])("%j: 2.%i", async (headers, minor) => {
    const reply = await ask(headers);
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject(both(minor));
  });

  test.each(["2.97", "2.0", "3.1", "1.1"])("%s is not supported: 406", async (version) => {
    const reply = await ask({ "openstack-api-version": `compute ${version}` });
    expect(reply.status).toBe(406);
    expect(reply.json()).toEqual({
      computeFault: {
        code: 406,
        message: `Version ${version} is not supported by the API. Minimum is 2.1 and maximum is 2.96.`,
      },
    });
  });

  test.each(["2", "2.x", "two", "2.1.1", "02.1", "2.01"])("%s is malformed: 400", async (version) => {
    const reply = await ask({ "openstack-api-version": `compute ${version}` });
    expect([reply.status, reply.message]).toEqual([
      400,
      `API Version String ${version} is of invalid format. Must be of format MajorNum.MinorNum.`,
    ]);
  });

  test("error responses have the version headers", async () => {
    const reply = await world.ask({ url: "/compute/v2.1/flavors/9", version: 61 });
    expect([reply.status, reply.headers]).toMatchObject([404, both(61)]);
  });

  test("/v2 has no microversions and ignores unknown properties", async () => {
    const reply = await world.ask({
      method: "POST",
      url: "/compute/v2/flavors",
      version: 61,
      body: { flavor: { name: "f", ram: 1, vcpus: 1, disk: 1, colour: "red" } },
    });
    expect([reply.status, reply.headers["openstack-api-version"]]).toEqual([200, undefined]);
    expect(reply.json("flavor")).not.toHaveProperty("extra_specs");
  });
});

describe("removed APIs", () => {
  test.each([
    ["GET", "/os-agents", undefined],
    ["POST", "/os-agents", { agent: {} }],
    ["GET", "/os-cells/capacities", undefined],
    ["DELETE", `/servers/${CIRROS}/consoles/1`, undefined],
    ["POST", `/servers/${CIRROS}/action`, { resetNetwork: null }],
  ])("%s %s is rejected with 410 in every version", async (method, path, body) => {
    for (const version of [1, 96]) {
      const reply = await world.ask({ method, url: `/compute/v2.1${path}`, body, version });
      expect([reply.status, reply.message]).toEqual([410, expect.stringContaining("no longer available")]);
    }
  });
});

describe("access", () => {
  test.each(["", "gAAAAABnonsense", "x".repeat(100_000)])(
    "a request without a valid token is rejected with 401",
    async (token) => {
      const reply = await world.ask({ url: "/compute/v2.1/servers", token });
      expect(reply.status).toBe(401);
      expect(reply.json()).toEqual({
        error: { code: 401, title: "Unauthorized", message: "The request you have made requires authentication." },
      });
      expect(reply.headers["www-authenticate"]).toBe('Keystone uri="http://127.0.0.1:8774/identity"');
    },
  );

  const forAdministrators: readonly (readonly [string, string, string])[] = [
    ["GET", "/os-services", "os_compute_api:os-services:list"],
    ["GET", "/os-hypervisors", "os_compute_api:os-hypervisors:list"],
    ["GET", "/os-hypervisors/detail", "os_compute_api:os-hypervisors:list-detail"],
    ["GET", "/os-hypervisors/1", "os_compute_api:os-hypervisors:show"],
    ["GET", "/os-hypervisors/1/uptime", "os_compute_api:os-hypervisors:uptime"],
    ["GET", "/os-hypervisors/statistics", "os_compute_api:os-hypervisors:statistics"],
    ["GET", "/os-hypervisors/x/search", "os_compute_api:os-hypervisors:search"],
    ["GET", "/os-migrations", "os_compute_api:os-migrations:index"],
    ["GET", "/os-availability-zone/detail", "os_compute_api:os-availability-zone:detail"],
    ["GET", "/os-aggregates", "os_compute_api:os-aggregates:index"],
    ["GET", "/os-quota-sets/other", "os_compute_api:os-quota-sets:show"],
    ["GET", "/limits?tenant_id=other", "os_compute_api:limits:other_project"],
    ["DELETE", "/os-services/1", "os_compute_api:os-services:delete"],
    ["DELETE", "/flavors/1", "os_compute_api:os-flavor-manage:delete"],
    ["GET", "/flavors/1/os-flavor-access", "os_compute_api:os-flavor-access"],
  ];

  test.each(forAdministrators)("%s %s is for administrators only", async (method, path, rule) => {
    const reply = await world.ask({ method, url: `/compute/v2.1${path}`, token: await world.token("demo") });
    expect(reply.status).toBe(403);
    expect(reply.json()).toEqual({
      forbidden: { code: 403, message: `Policy doesn't allow ${rule} to be performed.` },
    });
  });

  test("an unscoped token has no permissions", async () => {
    const login = await world.ask({
      method: "POST",
      url: "/identity/v3/auth/tokens",
      token: "",
      body: {
        auth: {
          identity: {
            methods: ["password"],
            password: { user: { name: "admin", password: world.passwords.admin, domain: { name: "Default" } } },
          },
        },
      },
    });
    const token = login.headers["x-subject-token"];
    expect((await world.ask({ url: "/compute/v2.1/servers", token })).status).toBe(403);
  });
});

describe("unknown paths", () => {
  test.each([
    ["GET", "/compute/v2.1/nothing", 404, "404 Not Found"],
    ["GET", "/compute/v9", 404, "404 Not Found"],
    ["DELETE", "/compute/v2.1/servers", 404, "404 Not Found"],
    ["GET", "/compute/v2.1/%ff", 404, "404 Not Found"],
  ])("%s %s: %i", async (method, url, status, code) => {
    const reply = await world.ask({ method, url });
    expect([reply.status, reply.json("code")]).toEqual([status, code]);
  });

  test("a path with the project's id, of clients with an old catalog, is served", async () => {
    const url = `/compute/v2.1/${world.projectId("admin")}/flavors/1`;
    expect((await world.ask({ url })).json("flavor", "id")).toBe("1");
  });
});

describe("invalid requests", () => {
  const url = "/compute/v2.1/servers";
  const dump = (): unknown =>
    world.store.database
      .all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'identity_%' ORDER BY name")
      .map(([name]) => world.store.database.all(`SELECT * FROM ${String(name)}`));

  test.each<[string, unknown, Record<string, string>, number]>([
    ["not JSON", "{", {}, 400],
    ["nothing", "", {}, 400],
    ["another type", "<server/>", { "content-type": "application/xml" }, 415],
    ["too much", `"${"x".repeat(120_000)}"`, {}, 413],
    ["deep", `${"[".repeat(50_000)}${"]".repeat(50_000)}`, {}, 400],
    ["null", "null", {}, 400],
    ["prototypes", '{"__proto__": {"server": {}}, "constructor": 1}', {}, 400],
  ])("are rejected: %s", async (_name, body, headers, status) => {
    const before = dump();
    const reply = await world.ask({
      method: "POST",
      url,
      body,
      headers: { "content-type": "application/json", ...headers },
    });
    expect(reply.status).toBe(status);
    expect(dump()).toEqual(before);
  });

  const routes = COMPUTE_ROUTES;
  const names = [
    "server",
    "flavor",
    "name",
    "imageRef",
    "flavorRef",
    "networks",
    "evacuate",
    "status",
    "metadata",
    "extra_specs",
    "os-stop",
  ];
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.jsonValue(),
      fc.constantFrom("none", "1", CIRROS, -1, 1e308, null, true),
      fc.dictionary(fc.constantFrom(...names), tie("any"), { maxKeys: 4 }),
    ),
  })).any;
  const anyRequest = fc.record({
    route: fc.constantFrom(...routes),
    version: fc.integer({ min: 1, max: 96 }),
    segments: fc.array(fc.oneof(fc.string(), fc.constantFrom("1", CIRROS, "..", "%00", "devstack1")), {
      minLength: 3,
      maxLength: 3,
    }),
    query: fc.oneof(
      fc.string(),
      fc.constantFrom("limit=x", "marker=x&limit=0", "name=(((", "status=x", "changes-since=x"),
    ),
    body: fc.oneof(value, fc.string()),
    admin: fc.boolean(),
  });

  property([anyRequest], { numRuns: 60 })(
    "every random request gets a valid response or an error below 500",
    async ({ route, version, segments, query, body, admin }) => {
      const rest = [...segments];
      const path = route.path.replaceAll(/:[a-z]+/g, () => encodeURIComponent(rest.pop() ?? "x"));
      const reply = await world.ask({
        method: route.method,
        url: `/compute/v2.1${path}?${query.replaceAll("#", "")}`,
        version,
        body: route.method === "GET" ? undefined : (body ?? "null"),
        token: await world.token(admin ? "admin" : "demo"),
      });
      // 501 is Nova's response for an operation that no driver implements.
      if (reply.status !== 501) {
        expect(reply.status, `${route.method} ${path}: ${reply.body}`).toBeLessThan(500);
      }
      if (reply.status >= 400) {
        expect(reply.message).not.toBe("");
      }
    },
  );

  property([fc.string(), fc.string(), fc.string({ maxLength: 40 })], { numRuns: 40 })(
    "random methods, paths and tokens change nothing",
    async (method, path, token) => {
      const before = dump();
      const reply = await world.ask({ method, url: `/compute/${path}`, token });
      expect(reply.status).toBeLessThan(500);
      expect(dump()).toEqual(before);
    },
  );
});
