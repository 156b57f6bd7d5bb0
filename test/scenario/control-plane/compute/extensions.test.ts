import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
});

async function aliases(api: string): Promise<readonly string[]> {
  const reply = await world.ask({ url: `/compute/${api}/extensions` });
  return (reply.json("extensions") as { readonly alias: string }[]).map(({ alias }) => alias);
}

describe("extensions", () => {
  test("are Nova's, in Nova's order", async () => {
    const listed = await aliases("v2.1");
    expect(listed).toHaveLength(99);
    expect(listed).toEqual(listed.toSorted());
    expect(listed).toContain("os-hosts");
  });

  test("of /v2 have one more", async () => {
    const listed = await aliases("v2");
    expect(listed).toHaveLength(100);
    expect(listed).toEqual(listed.toSorted());
    expect(listed).toContain("OS-EXT-VIF-NET");
    expect((await world.ask({ url: "/compute/v2.1/extensions/OS-EXT-VIF-NET" })).status).toBe(404);
  });

  test("are returned by alias", async () => {
    expect((await world.ask({ url: "/compute/v2.1/extensions/os-consoles" })).json()).toEqual({
      extension: {
        alias: "os-consoles",
        description: "Interactive Console support.",
        links: [],
        name: "Consoles",
        namespace: "http://docs.openstack.org/compute/ext/fake_xml",
        updated: "2014-12-03T00:00:00Z",
      },
    });
    expect((await world.ask({ url: "/compute/v2.1/extensions/os-nothing" })).status).toBe(404);
  });
});
