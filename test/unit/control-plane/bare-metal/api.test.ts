import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { property } from "../../../fixtures/property.js";
import {
  available,
  claim,
  get,
  type IronicRequest,
  patch,
  post,
  put,
  remove,
} from "../../../peers/ironic/contract/client.js";
import { EmbeddedIronic } from "./embedded-ironic.js";

let ironic: EmbeddedIronic;

beforeEach(async () => {
  ironic = await EmbeddedIronic.open();
});

const NODES: IronicRequest = { method: "GET", path: "/v1/nodes" };

describe("authorization", () => {
  test("anyone can read the versions", async () => {
    for (const path of ["/", "/v1"]) {
      expect((await ironic.ask({ method: "GET", path }, null)).status).toBe(200);
    }
  });

  test("requests for nodes without a token are rejected", async () => {
    const { status, headers, body } = await ironic.ask(NODES, null);
    expect(status).toBe(401);
    expect(headers["www-authenticate"]).toBe('Keystone uri="http://ironic.test/identity"');
    expect(JSON.parse(body)).toMatchObject({ error: { code: 401, title: "Unauthorized" } });
  });

  test("only administrators and services have access", async () => {
    expect((await ironic.ask(NODES, "demo")).status).toBe(403);
    expect((await ironic.ask(NODES, "admin")).status).toBe(200);
  });
});

describe("faults of the API", () => {
  test("a status fault replaces the operation", async () => {
    ironic.fault("api=503:2");
    expect((await get(ironic, "/v1/nodes")).status).toBe(503);
    expect((await get(ironic, "/")).status).toBe(503);
    expect((await get(ironic, "/v1/nodes")).status).toBe(200);
  });

  test("a fault can apply to one method; with a lost response the operation is done", async () => {
    const node = await available(ironic);
    const instance = randomUUID();
    ironic.fault("api.patch=lose-answer:once");
    expect((await get(ironic, node.path)).status).toBe(200);
    const lost = await ironic.ask({ method: "PATCH", path: node.path, body: claim(instance) });
    expect(lost.status).toBe(504);
    expect((await get(ironic, node.path)).body.instance_uuid).toBe(instance);
  });

  test("slow responses are delayed, hanging ones never sent", async () => {
    const startedAt = ironic.world.now;
    ironic.fault("api=slow:5s:once");
    expect((await get(ironic, "/v1/nodes")).status).toBe(200);
    expect(ironic.world.now - startedAt).toBe(5_000);
    ironic.fault("api=hang:once");
    expect((await ironic.ask(NODES)).status).toBe(504);
    expect(ironic.world.now - startedAt).toBe(65_000);
  });
});

describe("VIFs", () => {
  test("attaching takes a free port; a second attach is 409, no free port or no attachment is 400", async () => {
    const node = await available(ironic);
    const [id, other] = [randomUUID(), randomUUID()];
    const vifs = `${node.path}/vifs`;
    expect((await post(ironic, vifs, { id })).status).toBe(204);
    expect((await get(ironic, vifs)).body).toEqual({ vifs: [{ id }] });
    const again = await post(ironic, vifs, { id });
    expect(again.status).toBe(409);
    expect(again.fault).toContain(`Unable to attach VIF because VIF ${id} is already attached to Ironic Port`);
    const full = await post(ironic, vifs, { id: other });
    expect([full.status, full.fault]).toEqual([400, `Unable to attach VIF ${other}, not enough free physical ports.`]);
    const absent = await remove(ironic, `${vifs}/${other}`);
    expect([absent.status, absent.fault]).toEqual([
      400,
      `Unable to detach VIF ${other} from node ${node.uuid} because it is not attached to it.`,
    ]);
  });

  test("VIFs are detached when the instance is torn down", async () => {
    const node = await available(ironic);
    await post(ironic, `${node.path}/vifs`, { id: randomUUID() });
    await patch(ironic, node.path, claim(randomUUID()));
    for (const [target, state] of [
      ["active", "active"],
      ["deleted", "available"],
    ]) {
      await ironic.sendAll([{ method: "PUT", path: `${node.path}/states/provision`, body: { target } }]);
      await ironic.world.advance(10_000);
      expect((await get(ironic, node.path)).body.provision_state).toBe(state);
    }
    expect((await get(ironic, `${node.path}/vifs`)).body).toEqual({ vifs: [] });
  });
});

describe("enrollment", () => {
  test("creates predictable, schedulable nodes only once", async () => {
    ironic.enrol(2);
    await patch(ironic, "/v1/nodes/bm-000001", claim(randomUUID()));
    ironic.enrol(3);
    const { nodes } = (await get(ironic, "/v1/nodes/detail")).body as { nodes: Record<string, unknown>[] };
    expect(nodes.map(({ uuid, name }) => [uuid, name])).toEqual([
      ["ba5eba11-0000-4000-8000-000000000000", "bm-000000"],
      ["ba5eba11-0000-4000-8000-000000000001", "bm-000001"],
      ["ba5eba11-0000-4000-8000-000000000002", "bm-000002"],
    ]);
    expect(nodes[2]).toMatchObject({
      provision_state: "available",
      power_state: "power off",
      resource_class: "baremetal",
      instance_uuid: null,
      properties: { cpus: 48, memory_mb: 196_608, local_gb: 960, cpu_arch: "x86_64" },
    });
    expect(nodes[1]?.instance_uuid).not.toBeNull();
    expect((await get(ironic, "/v1/ports?node=bm-000002&detail=true")).body.ports).toMatchObject([
      { address: "52:54:00:00:00:02" },
    ]);
  });

  test("thousands of nodes are listed in pages of a thousand, in order", async () => {
    ironic.enrol(2_500);
    const listedUuids: string[] = [];
    const sizes: number[] = [];
    for (let marker = ""; ; ) {
      const { body } = await get(ironic, `/v1/nodes?fields=uuid,instance_uuid&limit=100000${marker}`);
      const page = (body.nodes as { readonly uuid: string }[]).map(({ uuid }) => uuid);
      sizes.push(page.length);
      listedUuids.push(...page);
      if (body.next === undefined) {
        break;
      }
      marker = `&marker=${page.at(-1)}`;
    }
    expect(sizes).toEqual([1_000, 1_000, 500]);
    expect(new Set(listedUuids).size).toBe(2_500);
    expect(listedUuids).toEqual([...listedUuids].sort());
  });
});

describe("invalid input", () => {
  test("invalid JSON and unknown fields are 400", async () => {
    const broken = await ironic.askRaw("POST", "/v1/nodes", "{bad");
    expect(broken.status).toBe(400);
    ironic.enrol(1);
    expect((await get(ironic, "/v1/nodes?fields=uuid,bogus")).status).toBe(400);
    const inherited = await patch(ironic, "/v1/nodes/bm-000000", [
      { op: "add", path: "/extra/__proto__", value: { polluted: 1 } },
      { op: "add", path: "/extra/__proto__/deeper", value: 2 },
    ]);
    expect(inherited.status).toBe(200);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect((await get(ironic, "/v1/nodes?fields=constructor")).status).toBe(400);
    expect((await get(ironic, "/v1/nodes?sort_key=constructor")).status).toBe(400);
    expect((await post(ironic, "/v1/nodes", { driver: "fake-hardware", constructor: 1 })).status).toBe(400);
    const verb = await put(ironic, "/v1/nodes/bm-000000/states/provision", { target: "constructor" });
    expect([verb.status, verb.fault]).toEqual([400, expect.stringContaining("can not be performed on node")]);
  });

  test("nesting deeper than 32 levels is 400, in one request or in steps", async () => {
    const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
    const create = await ironic.askRaw("POST", "/v1/nodes", `{"driver":"fake-hardware","extra":${deep(7_000)}}`);
    expect([create.status, create.body]).toEqual([400, expect.stringContaining("nested deeper than 32 levels")]);
    ironic.enrol(1);
    const at = (path: string) => `[{"op":"add","path":"${path}","value":${deep(20)}}]`;
    expect((await ironic.askRaw("PATCH", "/v1/nodes/bm-000000", at("/extra/b"))).status).toBe(200);
    const deeper = await ironic.askRaw("PATCH", "/v1/nodes/bm-000000", at(`/extra/b${"/a".repeat(19)}`));
    expect([deeper.status, deeper.body]).toEqual([400, expect.stringContaining("nested deeper than 32 levels")]);
  });

  test("a body with too many members is 413", async () => {
    const members = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`a${index}`, 1]));
    expect((await post(ironic, "/v1/nodes", members)).status).toBe(413);
  });

  test.each<{ readonly enabled: unknown }>([
    { enabled: { toString: {} } },
    { enabled: { valueOf: 1 } },
    { enabled: ["x"] },
    { enabled: null },
  ])("%j is no boolean: 400", async ({ enabled }) => {
    ironic.enrol(1);
    const console = await put(ironic, "/v1/nodes/bm-000000/states/console", { enabled });
    expect([console.status, console.fault]).toEqual([
      400,
      expect.stringContaining("Invalid enabled: Unrecognized value"),
    ]);
  });

  const paths = [
    "/v1/nodes",
    "/v1/nodes/bm-000000",
    "/v1/nodes/bm-000000/states/provision",
    "/v1/nodes/bm-000000/states/power",
    "/v1/nodes/bm-000000/maintenance",
    "/v1/nodes/bm-000000/vifs",
    "/v1/nodes/bm-000000/traits",
    "/v1/ports",
  ];
  const bodies = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.array(
      fc.record({
        op: fc.constantFrom("add", "replace", "remove"),
        path: fc.constantFrom(
          "/extra",
          "/extra/a",
          "/extra/a/0",
          "/instance_uuid",
          "/name",
          "/maintenance",
          "/traits/0",
        ),
        value: fc.jsonValue({ maxDepth: 2 }),
      }),
      { maxLength: 3 },
    ),
    fc.record({ target: fc.jsonValue(), configdrive: fc.jsonValue(), timeout: fc.jsonValue(), driver: fc.jsonValue() }),
  );
  property([fc.constantFrom("POST", "PUT", "PATCH"), fc.constantFrom(...paths), bodies], { numRuns: 60 })(
    "is never answered with 5xx, and leaves the nodes listed",
    async (method, path, body) => {
      ironic.enrol(1);
      const { status } = await ironic.askRaw(method, path, JSON.stringify(body));
      expect(status).toBeLessThan(500);
      expect((await get(ironic, "/v1/nodes/detail")).status).toBe(200);
    },
  );
});
