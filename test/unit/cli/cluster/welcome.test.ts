import picocolors from "picocolors";
import { expect, test } from "vitest";
import { chooseSample, welcome } from "../../../../src/cli/cluster/up-started.js";
import type { Terminal } from "../../../../src/cli/ui/terminal.js";
import { ownServices } from "../../../../src/control-plane/identity/catalog.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";

const terminal = { columns: 80, colors: picocolors.createColors(false) } as unknown as Terminal;
const UP = {
  url: "http://127.0.0.1:8774",
  externalUrl: undefined,
  where: "",
  attached: true,
  here: true,
  another: undefined,
  missing: [],
  leftDown: [],
  sample: { flavor: "m1.tiny", image: "cirros" },
} as const;

test("names each service of the catalog, and a command that the client understands without a microversion", () => {
  const text = welcome({ ...UP, directory: stateDir("/somewhere", "/") }, terminal);
  // Old clients find Block Storage by another type.
  const services = ownServices({ sha256: () => "0".repeat(64) }).filter(({ type }) => type !== "volumev3");
  expect(text.match(/http:\/\/127\.0\.0\.1:8774\/\S+/g)).toHaveLength(services.length);
  expect(text).toContain("npx compute-agent open  (http://127.0.0.1:8774)");
  expect(text).toContain("  openstack server create --flavor m1.tiny --image cirros --wait vm1\n");
});

test("suggests a server with an existing flavor and image, or none if there are none", () => {
  const directory = stateDir("/somewhere", "/");
  const image = (name: string, more: object = {}) => ({ name, status: "active", min_ram: 0, min_disk: 0, ...more });
  const flavor = (name: string, ram: number, disk = 1) => ({ name, ram, disk });
  const devstack = [flavor("m1.nano", 64), flavor("m1.tiny", 512)];
  expect(chooseSample(devstack, [image("debian"), image("cirros-0.6.3")])).toEqual({
    flavor: "m1.tiny",
    image: "cirros-0.6.3",
  });
  const own = [flavor("huge", 65_536), flavor("too small", 128), flavor("a b", 256)];
  const sample = chooseSample(own, [image("queued", { status: "queued" }), image("debian", { min_ram: 200 })]);
  expect(welcome({ ...UP, sample, directory }, terminal)).toContain(
    "  openstack server create --flavor 'a b' --image debian --wait vm1\n",
  );
  expect(chooseSample([], [image("cirros")])).toBeUndefined();
  expect(chooseSample(own, [])).toBeUndefined();
  expect(welcome({ ...UP, sample: undefined, directory }, terminal)).not.toContain("server create");
});
