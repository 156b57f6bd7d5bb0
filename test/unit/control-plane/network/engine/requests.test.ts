import { beforeEach, describe, expect, test } from "vitest";
import { type Caller, validateCaller } from "../../../../fixtures/callers.js";
import { type Body, NetworkHarness } from "../network-harness.js";
import { WIDGET_RESOURCES } from "./widgets.js";

const WIDGETS = "/big-widgets";
const BAD = "400 HTTPBadRequest:";

let network: NetworkHarness;

function create(attributes: Body = {}, caller: Caller = "demo") {
  return network.get("POST", WIDGETS, { big_widget: { size: 1, ...attributes } }, caller);
}

const rejectionOf = (body: unknown, caller: Caller = "demo") => network.rejection("POST", WIDGETS, body, caller);

function update(id: unknown, big_widget: Body, caller: Caller = "demo") {
  return network.rejection("PUT", `${WIDGETS}/${id}`, { big_widget }, caller);
}

const names = async (query: string) => (await network.list(`${WIDGETS}${query}`)).map(({ name }) => name);

beforeEach(() => {
  network = new NetworkHarness({ quotas: { widget: 3 } }, validateCaller, WIDGET_RESOURCES);
});

describe("a create", () => {
  test("returns the record with defaults, converted values and both names of the project", async () => {
    const widget = await create({ size: "7", is_round: "yes", color: "red" });
    expect(widget).toEqual({
      id: widget.id,
      name: "",
      size: 7,
      color: "red",
      is_round: true,
      shared: false,
      state: "new",
      project_id: "demo",
      tenant_id: "demo",
      description: "",
      tags: [],
      revision_number: 0,
      created_at: widget.created_at,
      updated_at: widget.created_at,
    });
  });

  test("needs JSON", async () => {
    expect(await rejectionOf("{")).toBe("400 MalformedRequestBody: Malformed request body: Cannot understand JSON.");
  });

  test.each([
    ["no wrapper", { size: 1 }, "Unable to find 'big_widget' in request body"],
    ["a missing attribute", { big_widget: {} }, "Failed to parse request. Required attribute 'size' not specified"],
    ["an unknown attribute", { big_widget: { size: 1, x: 1 } }, "Unrecognized attribute(s) 'x'"],
    ["a read-only attribute", { big_widget: { size: 1, state: "x" } }, "Attribute 'state' not allowed in POST"],
    [
      "two projects",
      { big_widget: { size: 1, project_id: "demo", tenant_id: "alt" } },
      "'project_id' and 'tenant_id' do not match",
    ],
    [
      "another project",
      { big_widget: { size: 1, tenant_id: "alt" } },
      "Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or advsvc privileges",
    ],
  ])("with %s is invalid", async (_case, body, message) => {
    expect(await rejectionOf(body)).toBe(`${BAD} ${message}`);
  });

  test("names only the first invalid attribute, in the order of the description", async () => {
    expect(await rejectionOf({ big_widget: { size: 99, name: "too long a name" } })).toBe(
      `${BAD} Invalid input for name. Reason: 'too long a name' exceeds maximum length of 8.`,
    );
  });

  test("is checked for validity, then policy, quota and the resource's own rules", async () => {
    const taken = { big_widget: { size: 1, name: "taken" } };
    for (const name of ["a", "b", "c"]) {
      expect(await rejectionOf(taken)).toBe("409 WidgetNameTaken: The name is taken.");
      await create({ name });
    }
    expect(await rejectionOf(taken)).toBe("409 OverQuota: Quota exceeded for resources: ['widget'].");
    expect(await rejectionOf({ big_widget: { size: 1, shared: true } })).toBe(
      "403 PolicyNotAuthorized: (rule:create_address_scope and rule:create_address_scope:shared) is disallowed by policy",
    );
    expect(await rejectionOf({ big_widget: { size: 99, shared: true } })).toContain(`${BAD} Invalid input for size.`);
  });

  test("of several records creates all of them or none", async () => {
    const several = (...items: readonly Body[]) => ({ big_widgets: items.map((item) => ({ size: 1, ...item })) });
    expect(await rejectionOf(several({ name: "a" }, { name: "taken" }))).toContain("409 WidgetNameTaken");
    expect(await rejectionOf(several({}, {}, {}, {}))).toContain("409 OverQuota");
    expect(await names("")).toEqual([]);
    const reply = await network.send("POST", WIDGETS, several({ name: "a" }, { name: "b" }));
    expect(reply.json("big_widgets")).toMatchObject([{ name: "a" }, { name: "b" }]);
  });
});

describe("an update", () => {
  test("is checked for validity, existence, policy, the resource's own rules, then the revision", async () => {
    const { id } = await create();
    expect(await update("nope", { x: 1 })).toBe(`${BAD} Unrecognized attribute(s) 'x'`);
    expect(await update(id, { color: "red" })).toBe(`${BAD} Cannot update read-only attribute color`);
    expect(await update("nope", { name: "a" })).toBe("404 WidgetNotFound: Big widget nope could not be found.");
    expect(await update(id, { name: "taken" }, "reader")).toBe(
      "403 PolicyNotAuthorized: rule:update_address_scope is disallowed by policy",
    );
    const outdated = { "if-match": "revision_number=7" };
    const statusOf = async (name: string) => {
      const body = { big_widget: { name } };
      return (await network.send("PUT", `${WIDGETS}/${id}`, body, "demo", outdated)).status;
    };
    expect(await update(id, { name: "taken" })).toBe("409 WidgetNameTaken: The name is taken.");
    expect(await statusOf("taken")).toBe(409);
    expect(await statusOf("free")).toBe(412);
  });

  test("raises the revision and the time of the update, unless it changes nothing", async () => {
    const { id, created_at } = await create({ name: "a" });
    await network.advance(5000);
    const change = (attributes: Body) => network.get("PUT", `${WIDGETS}/${id}`, { big_widget: attributes });
    expect(await change({ name: "a" })).toMatchObject({ revision_number: 0, updated_at: created_at });
    const changed = await change({ name: "b" });
    expect(changed).toMatchObject({ name: "b", revision_number: 1, created_at });
    expect(changed.updated_at).not.toBe(created_at);
  });
});

test("an update of several records is rejected, after the record of the path was found", async () => {
  const { id } = await create();
  const several = { big_widgets: [{ name: "a" }, { name: "b" }] };
  expect(await network.rejection("PUT", `${WIDGETS}/x`, several)).toContain("404 WidgetNotFound");
  expect(await network.rejection("PUT", `${WIDGETS}/${id}`, several)).toContain("400 HTTPBadRequest");
});

test("a change of a collection needs the record that the collection belongs to", async () => {
  const { id } = await network.get("POST", "/qos/policies", { policy: { name: "p" } }, "admin");
  const reject = (caller: Caller) =>
    network.rejection("DELETE", `/qos/policies/${id}/bandwidth_limit_rules`, undefined, caller);
  expect(await reject("admin")).toContain("404 QosRuleNotFound");
  expect(await reject("demo")).toContain("404 QosPolicyNotFound");
  const network_id = (await network.get("POST", "/networks", { network: {} })).id;
  const port = await network.get("POST", "/ports", { port: { network_id } });
  const bindings = `/ports/${port.id}/bindings`;
  expect(await network.rejection("DELETE", bindings, undefined, "admin")).toContain("400 BadRequest");
});

test("a record of a resource that can only be listed is unknown, and has no other methods", async () => {
  const statuses: number[] = [];
  for (const method of ["GET", "PUT", "DELETE", "POST", "PATCH"]) {
    statuses.push((await network.send(method, "/availability_zones/x", method === "GET" ? undefined : {})).status);
  }
  expect(statuses).toEqual([404, 404, 404, 405, 405]);
});

describe("If-Match", () => {
  test.each([
    ["PUT", { big_widget: { name: "a" } }],
    ["DELETE", undefined],
  ])("rejects a %s of another revision", async (method, body) => {
    const { id } = await create();
    const send = (expected: string) => network.send(method, `${WIDGETS}/${id}`, body, "demo", { "if-match": expected });
    expect((await send("revision_number=4")).json("NeutronError")).toMatchObject({
      type: "RevisionNumberConstraintFailed",
      message: "Constrained to 4, but current revision is 0",
    });
    expect((await send("revision_number=0")).status).toBeLessThan(300);
  });

  test("of a malformed revision is rejected before the body, except that of core resources", async () => {
    const headers = { "if-match": "revision_number=x" };
    const send = async (url: string, key: string) => {
      const reply = await network.send("PUT", url, { [key]: { bogus: 1 } }, "admin", headers);
      return `${reply.status} ${reply.json("NeutronError", "message")}`;
    };
    expect(await send(`${WIDGETS}/x`, "big_widget")).toBe(
      "400 Bad if-match request: Revision number etag must be in the format of revision_number=<int>.",
    );
    expect(await send("/networks/x", "network")).toBe("400 Unrecognized attribute(s) 'bogus'");
  });

  test("is ignored by an update without attributes, unless Neutron writes the record then", async () => {
    const send = async (url: string, body: Body) => {
      const { id } = await network.get("POST", url, body);
      const [key = ""] = Object.keys(body);
      const headers = { "if-match": "revision_number=77" };
      return (await network.send("PUT", `${url}/${id}`, { [key]: {} }, "demo", headers)).status;
    };
    expect(await send("/networks", { network: {} })).toBe(200);
    expect(await send("/security-groups", { security_group: { name: "g" } })).toBe(200);
    expect(await send("/routers", { router: {} })).toBe(412);
    expect(await send("/subnetpools", { subnetpool: { name: "p", prefixes: ["10.0.0.0/8"] } })).toBe(412);
  });

  test("without a revision number is ignored", async () => {
    const { id } = await create();
    const reply = await network.send("DELETE", `${WIDGETS}/${id}`, undefined, "demo", { "if-match": "*" });
    expect(reply.status).toBe(204);
  });
});

describe("a record of another project", () => {
  const HIDDEN = "404 HTTPNotFound: The resource could not be found.";

  test("is unknown", async () => {
    const { id } = await create();
    const unknown = `404 WidgetNotFound: Big widget ${id} could not be found.`;
    expect(await network.rejection("GET", `${WIDGETS}/${id}`, undefined, "alt")).toBe(unknown);
    expect(await update(id, { name: "a" }, "alt")).toBe(unknown);
    expect(await network.rejection("DELETE", `${WIDGETS}/${id}`, undefined, "alt")).toBe(unknown);
    expect(await network.list(WIDGETS, "alt")).toEqual([]);
  });

  test("is no resource if it is shared and the policy of reads hides it", async () => {
    const { id } = await create({}, "admin");
    network.context.sql.execute(
      `INSERT INTO network_rbac_policies (id, object_type, object_id, action, target_tenant)
        VALUES ('rbac1', 'address_scope', ?, 'access_as_shared', '*')`,
      String(id),
    );
    expect(await network.rejection("GET", `${WIDGETS}/${id}`)).toBe(HIDDEN);
    expect(await update(id, { name: "a" })).toBe(HIDDEN);
    expect(await network.list(WIDGETS)).toEqual([]);
  });
});

describe("a list", () => {
  beforeEach(async () => {
    await create({ name: "b", size: 2, is_round: true });
    await create({ name: "a", size: 1 });
    await create({ name: "", size: 2 });
  });

  test.each([
    ["", ["b", "a", ""]],
    ["?name=a&name=b", ["b", "a"]],
    ["?name=a&size=2", []],
    ["?size=2", ["b", ""]],
    ["?name=", [""]],
    ["?is_round=True", ["b"]],
    ["?is_round=0", ["a", ""]],
    ["?tenant_id=demo&name=a", ["a"]],
    ["?tenant_id=alt", []],
    ["?sort_key=name&sort_dir=asc", ["", "a", "b"]],
    ["?sort_key=size&sort_dir=desc&sort_key=name&sort_dir=desc", ["b", "", "a"]],
  ])("with %s has the names %o", async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  test.each([
    ["color=red", "['color'] is invalid attribute for filtering"],
    ["nope=1&name=a", "['nope'] is invalid attribute for filtering"],
    ["sort_key=name", "The number of sort_keys and sort_dirs must be same"],
    ["sort_key=color&sort_dir=asc", "['color'] is invalid attribute for sort_keys"],
  ])("with %s is invalid", async (query, message) => {
    expect(await network.rejection("GET", `${WIDGETS}?${query}`)).toBe(`${BAD} ${message}`);
  });

  test("contains the requested fields only", async () => {
    expect(await network.list(`${WIDGETS}?fields=name&fields=size&name=a`)).toEqual([{ name: "a", size: 1 }]);
  });

  test("in pages has links to the next and the previous page", async () => {
    const page = async (query: string) => {
      const reply = await network.send("GET", `${WIDGETS}?sort_key=name&sort_dir=asc&fields=name&${query}`);
      const { big_widgets, big_widgets_links: links = [] } = reply.json() as {
        readonly big_widgets: readonly Body[];
        readonly big_widgets_links?: readonly { readonly rel: string; readonly href: string }[];
      };
      const follow = (rel: string) => new URL(links.find((link) => link.rel === rel)?.href ?? "").search.slice(1);
      return { names: big_widgets.map(({ name }) => name), rels: links.map(({ rel }) => rel), follow };
    };
    const first = await page("limit=2");
    expect(first).toMatchObject({ names: ["", "a"], rels: ["next", "previous"] });
    const second = await page(first.follow("next"));
    expect(second).toMatchObject({ names: ["b"], rels: ["previous"] });
    const again = await page(second.follow("previous"));
    expect(again).toMatchObject({ names: ["", "a"], rels: ["next", "previous"] });
    expect(await page("")).toMatchObject({ rels: [] });
  });

  test("behind an unknown record begins at the start, except that of core resources", async () => {
    expect(await network.list(`${WIDGETS}?limit=1&marker=nope`)).toHaveLength(1);
    expect(await network.rejection("GET", "/networks?limit=1&marker=nope")).toContain("404 NetworkNotFound");
  });
});

describe("tags", () => {
  test("are replaced, added, found and removed, each of which raises the revision", async () => {
    const { id } = await create({ name: "a" });
    const path = `${WIDGETS}/${id}/tags`;
    const put = await network.send("PUT", path, { tags: ["red", "Cyan", "blue"] });
    expect([put.status, put.json()]).toEqual([200, { tags: ["red", "Cyan", "blue"] }]);
    expect((await network.send("PUT", `${path}/green`)).status).toBe(201);
    expect((await network.send("GET", `${path}/green`)).status).toBe(204);
    expect((await network.send("DELETE", `${path}/red`)).status).toBe(204);
    expect(await network.rejection("GET", `${path}/red`)).toBe("404 TagNotFound: Tag red could not be found.");
    expect(await network.get("GET", `${WIDGETS}/${id}`)).toMatchObject({
      tags: ["blue", "Cyan", "green"],
      revision_number: 3,
    });
  });

  test.each([
    ["tags=red", ["a", "b"]],
    ["tags=red,blue", ["a"]],
    ["tags-any=blue,green", ["a", "c"]],
    ["not-tags=red,blue", ["b", "c"]],
    ["not-tags-any=blue,green", ["b"]],
  ])("filter lists by %s", async (query, expected) => {
    for (const [name, tags] of Object.entries({ a: ["red", "blue"], b: ["red"], c: ["green"] })) {
      const { id } = await create({ name });
      await network.send("PUT", `${WIDGETS}/${id}/tags`, { tags });
    }
    expect(await names(`?${query}`)).toEqual(expected);
  });
});

describe("a member action", () => {
  test("runs for members of the record's project", async () => {
    const { id } = await create({ size: 1 });
    const grow = (caller: Caller) => network.send("PUT", `${WIDGETS}/${id}/grow`, {}, caller);
    expect((await grow("demo")).json()).toEqual({ size: 2 });
    expect((await grow("alt")).status).toBe(404);
    expect(await network.get("GET", `${WIDGETS}/${id}`)).toMatchObject({ size: 2, revision_number: 1 });
  });
});

describe("a sub-resource", () => {
  test("is found by its key within its parent, and goes with it", async () => {
    const [first, second] = [await create(), await create()];
    const parts = (id: unknown) => `${WIDGETS}/${id}/parts`;
    const part = await network.get("POST", parts(first.id), { part: { label: "x" } });
    expect(part).toEqual({ id: part.id, label: "x" });
    expect(await network.get("GET", `${parts(first.id)}/x`)).toEqual(part);
    expect(await network.list(parts(second.id))).toEqual([]);
    expect(await network.rejection("GET", `${parts(second.id)}/x`)).toBe(
      `404 PartNotFound: Part x of widget ${second.id} could not be found.`,
    );
    await network.get("DELETE", `${WIDGETS}/${first.id}`);
    expect(await network.rejection("GET", parts(first.id))).toContain("404 WidgetNotFound");
  });

  test("of a parent that does not exist is a 404, but forbidden to those who may create none", async () => {
    const path = `${WIDGETS}/nope/parts`;
    const body = { part: { label: "x" } };
    expect(await network.rejection("POST", path, body)).toBe("404 WidgetNotFound: Big widget nope could not be found.");
    expect(await network.rejection("POST", path, body, "reader")).toContain("403 PolicyNotAuthorized");
  });
});

test("paths may have underscores instead of hyphens", async () => {
  const widget = await create();
  expect(await network.get("GET", `/big_widgets/${widget.id}`)).toEqual(widget);
});
