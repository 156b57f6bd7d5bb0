import { describe, expect, it } from "vitest";
import { ServiceClient } from "../../../src/audit/cloud/service-client.js";
import { listAll } from "../../../src/audit/read/response-fields.js";
import { AuditWorld, NEED } from "./audit-world.js";

const LIST = { path: "/things?a=1", key: "things", what: "things", markerOf: ({ id }: { id?: unknown }) => String(id) };

/** Serves pages of two, like a cloud whose `max_limit` is lower than the requested limit. */
function pages(ids: string[], onPage: (marker: string | null) => void = () => undefined): ServiceClient {
  return new ServiceClient("compute", 87, async (_service, { path }) => {
    const query = new URLSearchParams(path.split("?")[1]);
    const marker = query.get("marker");
    const at = marker === null ? 0 : ids.indexOf(marker) + 1;
    onPage(marker);
    if (marker !== null && at === 0) {
      const body = JSON.stringify({ badRequest: { message: `marker [${marker}] not found` } });
      return { status: 400, headers: {}, body };
    }
    const things = ids.slice(at, at + 2).map((id) => ({ id }));
    const more = things.length === 2 ? { things_links: [] } : {};
    return { status: 200, headers: {}, body: JSON.stringify({ things, ...more }) };
  });
}

describe("CloudReader", () => {
  it("follows pages of any size that the cloud allows", async () => {
    const ids = ["a", "b", "c", "d", "e"];
    expect((await listAll(pages(ids), LIST, () => undefined)).map(({ id }) => id)).toEqual(ids);
    expect(await listAll(pages(["a", "b"]), LIST, () => undefined)).toHaveLength(2);
    expect(await listAll(pages([]), LIST, () => undefined)).toEqual([]);
  });

  it("reads pages without links until an empty one", async () => {
    const ids = ["a", "b", "c"];
    expect((await listAll(pages(ids), { ...LIST, hasLinks: false }, () => undefined)).map(({ id }) => id)).toEqual(ids);
    expect(await listAll(pages(["a"]), { ...LIST, hasLinks: false }, () => undefined)).toHaveLength(1);
  });

  it("starts again if the last item of a page was deleted before the next page is requested", async () => {
    const ids = ["a", "b", "c", "d"];
    let requestCount = 0;
    const client = pages(ids, () => {
      requestCount += 1;
      if (requestCount === 1) {
        queueMicrotask(() => ids.splice(1, 1));
      }
    });
    expect((await listAll(client, LIST, () => undefined)).map(({ id }) => id)).toEqual(["a", "c", "d"]);
  });

  it("sends two requests a provider and none a server while nothing is wrong", async () => {
    const world = await AuditWorld.open();
    for (const name of ["a", "b", "c"]) {
      await world.host(name);
    }
    for (let n = 0; n < 20; n += 1) {
      await world.healthy("a", `vm${n}`);
    }
    await world.cloud();
    world.sent.length = 0;
    const progress: string[] = [];
    const { findings, scope: counts } = await world.audit({
      onProgress: (what, done, total) => progress.push(`${what} ${done}/${total}`),
    });
    expect(findings).toEqual([]);
    expect(counts).toEqual({ servers: 20, unchecked: 0, providers: 3, consumers: 20, ports: 0, volumes: 0 });
    // Servers, migrations, nodes, services, providers, three traits, two requests per provider, the sums of one owner, ports, volumes, attachments.
    expect(world.sent).toHaveLength(4 + 4 + 2 * 3 + 1 + 1 + 2);
    expect(world.sent.every((line) => line.startsWith("GET "))).toBe(true);
    expect(progress).toContain("resource providers 3/3");
  });

  it("reads owners of consumers only where sums differ, and all owners with --thorough", async () => {
    const world = await AuditWorld.open();
    const host = await world.host("a");
    const [one, two] = ["p1", "p2"].map((projectId) => world.server("a", projectId, { projectId }));
    await world.allocate(one?.uuid ?? "", { [host]: NEED }, { project: "p2" });
    await world.allocate(two?.uuid ?? "", { [host]: NEED }, { project: "p1" });
    // The servers have swapped their projects, so every sum is correct.
    expect(await world.found()).toEqual([]);
    expect(await world.found({ thorough: true })).toEqual(["wrong-owner p1", "wrong-owner p2"]);
  });
});
