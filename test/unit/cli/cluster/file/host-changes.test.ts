import { describe, expect, it } from "vitest";
import { hostChanges } from "../../../../../src/cli/cluster/file/cluster-changes.js";
import type { HostSetting } from "../../../../../src/cli/cluster/host-settings.js";

type Flags = Partial<Parameters<typeof hostChanges>[2]>;

const PLAIN: HostSetting = { configFiles: [] };
const BEFORE = { "control-plane": PLAIN, ironic1: PLAIN, a1: PLAIN, a2: PLAIN, b: { driver: "qemu", configFiles: [] } };

function changes(named: Readonly<Record<string, HostSetting>>, flags: Flags = {}) {
  return hostChanges(BEFORE, new Map(Object.entries(named)), { ironic: 1, ...flags }, new Map([["busy", 2]])).map(
    ({ sign, text, destroys }) => `${sign} ${text}${destroys ? " !" : ""}`,
  );
}

describe("changes of hosts", () => {
  it("are empty when all hosts have the same settings, however they were added", () => {
    const { a1, a2, b } = BEFORE;
    expect(changes({ a1, a2, b })).toEqual([]);
    expect(changes({ a1: { ...PLAIN, driver: "fake-libvirt" }, a2, b })).toEqual([]);
  });

  it("list added, changed and removed hosts together", () => {
    const other = { ...PLAIN, options: ["fake_libvirt.vcpus=16"] };
    expect(changes({ a1: other, a2: other, "c[1]": PLAIN, c2: PLAIN })).toEqual([
      "+ host c[1],c2",
      "~ host a[1-2]: fake_libvirt.vcpus unset -> 16",
      "- host b !",
    ]);
  });

  it("keep a host that has servers, down", () => {
    const before = { ...BEFORE, busy: PLAIN };
    const { a1, a2, b } = BEFORE;
    const found = hostChanges(before, new Map(Object.entries({ a1, a2, b })), { ironic: 1 }, new Map([["busy", 2]]));
    expect(found).toEqual([
      { sign: "~", text: "host busy: stays, disabled and down, because it has servers", destroys: false },
    ]);
  });

  it("remove the agent of bare-metal nodes when the file has no nodes", () => {
    const { a1, a2, b } = BEFORE;
    expect(changes({ a1, a2, b }, { ironic: 0 })).toEqual(["- host ironic1 !"]);
  });

  it("need no confirmation for removals with --remove", () => {
    expect(changes({ a1: PLAIN, a2: PLAIN }, { remove: true })).toEqual(["- host b"]);
  });

  it("reject another driver unless that is requested", () => {
    const named = { a1: { ...PLAIN, driver: "qemu" }, a2: PLAIN, b: BEFORE.b };
    expect(() => changes(named)).toThrow(
      "the driver of hosts cannot change by default: a1: driver fake-libvirt -> qemu; set change_driver: true",
    );
    expect(changes(named, { changeDriver: true })).toEqual(["~ host a1: driver fake-libvirt -> qemu"]);
  });

  it("ignore a driver that a configuration file names, since the agent checks it", () => {
    const named = { a1: { driver: "qemu", configFiles: [] }, a2: PLAIN, b: BEFORE.b };
    const before = { ...BEFORE, a1: { configFiles: ["/nova.conf"] } };
    expect(hostChanges(before, new Map(Object.entries(named)), { ironic: 1 }, new Map())).toHaveLength(1);
  });
});
