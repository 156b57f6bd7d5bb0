import { expect, test } from "vitest";
import { EXTENSIONS, FURTHER_EXTENSIONS } from "../../../../src/control-plane/network/extensions.js";
import { NETWORK_RESOURCES } from "../../../../src/control-plane/network/network-resources.js";
import { NetworkHarness } from "./network-harness.js";

test("the extensions are those of Neutron 21 and the newer ones that resources name", async () => {
  const network = new NetworkHarness();
  const aliases = (await network.list("/extensions")).map(({ alias }) => alias);
  expect(aliases).toEqual(expect.arrayContaining(EXTENSIONS.map(({ alias }) => alias)));
  expect(aliases).toContain("security-groups-default-rules");
  expect(aliases).toContain("security-groups-rules-belongs-to-default-sg");
  expect(aliases).not.toContain("tap-mirror");
  expect(aliases).toEqual([...new Set(aliases)].sort());
});

test("an extension has the attributes of Neutron's", async () => {
  const network = new NetworkHarness();
  expect(await network.get("GET", "/extensions/router")).toEqual({
    name: "Neutron L3 Router",
    alias: "router",
    description:
      "Router abstraction for basic L3 forwarding between L2 Neutron networks and access to external networks via a NAT gateway.",
    updated: "2012-07-20T10:00:00-00:00",
    links: [],
  });
});

test("an unknown extension is a 404 with text", async () => {
  const reply = await new NetworkHarness().send("GET", "/extensions/bogus");
  expect(reply.status).toBe(404);
  expect(reply.headers["content-type"]).toBe("text/plain; charset=UTF-8");
  expect(reply.body).toBe(
    "404 Not Found\n\nThe resource could not be found.\n\n Extension with alias bogus does not exist  ",
  );
});

test("each extension that a description names exists", () => {
  const known = new Set(["core", ...[...EXTENSIONS, ...FURTHER_EXTENSIONS].map(({ alias }) => alias)]);
  const named = NETWORK_RESOURCES.flatMap(({ resource }) => [
    resource.extension,
    ...Object.values(resource.attributes).flatMap(({ extension }) => extension ?? []),
  ]);
  expect([...new Set(named)].filter((alias) => !known.has(alias))).toEqual([]);
});
