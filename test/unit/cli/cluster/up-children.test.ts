import { describe, expect, it } from "vitest";
import { hostArguments, settingsOf, type UpOptions, upChildren } from "../../../../src/cli/cluster/up-children.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";

const OPTIONS: UpOptions = { hosts: 2, stateDir: "st", configFile: [], ironic: 0 };
const absolute = (path: string) => `/here/${path.replace(/^\.\//, "")}`;

function agents(options: UpOptions, savedSettings = {}) {
  const { agents: plans, controlPlaneArgs } = upChildren(
    options,
    stateDir("st", "/here"),
    settingsOf(options, savedSettings, absolute),
    2,
  );
  const of = (host: string) => plans.find(({ hosts }) => hosts.includes(host))?.args ?? [];
  return { plans, hosts: plans.flatMap(({ hosts }) => hosts), of, controlPlaneArgs };
}

describe("the components that up starts", () => {
  it("give every host the requested driver and files, by absolute paths", () => {
    const { of, controlPlaneArgs } = agents({ ...OPTIONS, driver: "./mine", configFile: ["nova.conf"] });
    const expected = ["--compute-driver", "/here/mine", "--config-file", "/here/nova.conf", "--trace-driver"];
    expect(of("devstack1")).toEqual(expected);
    expect(of("devstack2")).toEqual(expected);
    expect(controlPlaneArgs).toEqual(["--config-file", "/here/nova.conf"]);
  });

  it("keep the name of a package or a built-in driver", () => {
    expect(agents({ ...OPTIONS, driver: "@acme/driver" }).of("devstack1")).toContain("@acme/driver");
  });

  it("reuse the settings of the last start", () => {
    const savedSettings = {
      "control-plane": { configFiles: ["/old/nova.conf"] },
      devstack1: { driver: "/old/driver", configFiles: ["/old/nova.conf"] },
    };
    const { of, controlPlaneArgs } = agents(OPTIONS, savedSettings);
    expect(of("devstack1").slice(0, 4)).toEqual(["--compute-driver", "/old/driver", "--config-file", "/old/nova.conf"]);
    expect(of("devstack2")).toEqual([]);
    expect(controlPlaneArgs).toEqual(["--config-file", "/old/nova.conf"]);
    expect(
      agents({ ...OPTIONS, driver: "new", configFile: ["/new.conf"] }, savedSettings).of("devstack1"),
    ).not.toContain("/old/driver");
  });

  it("include the hosts of the last start, unless a number is requested", () => {
    const { hosts: _two, ironic: _none, ...flags } = OPTIONS;
    const plain = { configFiles: [] };
    const lastStart = (hosts: readonly string[]) => ({ "control-plane": { configFiles: [], hosts } });
    const names = (settings: object, more: Partial<UpOptions> = {}) =>
      agents({ ...flags, ...more }, settings).hosts.join(" ");
    expect(names({}), "a new cluster").toBe("devstack1 devstack2 devstack3");
    const five = Object.fromEntries(["a", "b", "c", "d", "left-out"].map((host) => [host, plain]));
    const savedSettings = { ...five, extra: { ...plain, added: true }, ...lastStart(["a", "b", "c", "d"]) };
    expect(names(savedSettings)).toBe("a b c d extra");
    expect(names(savedSettings, { hosts: 1 })).toBe("devstack1 extra");
    expect(names(lastStart([])), "it had none").toBe("");
    const broken = { devstack1: plain, ...lastStart(["devstack1", "devstack2", "devstack3", "devstack4"]) };
    expect(names(broken), "a start that broke off").toBe("devstack1 devstack2 devstack3 devstack4");
    expect(names({ ...five, "control-plane": plain }), "an older program").toBe("a b c d left-out");
    expect(names({ a: plain, ironic1: plain, ...lastStart(["a", "ironic1"]) })).toBe("a ironic1");
    expect(names({ a: plain, ironic1: plain, ...lastStart(["a", "ironic1"]) }, { ironic: 0 })).toBe("a");
  });

  it("reuse each host's driver, options and release, oldest release first", () => {
    const { hosts: _two, ...flags } = OPTIONS;
    const savedSettings = {
      new: { configFiles: [], options: ["cpu_allocation_ratio=2"] },
      old: { driver: "/mine", configFiles: [], release: "yoga" as const },
      "control-plane": { configFiles: ["/nova.conf"], hosts: ["new", "old"] },
    };
    const { plans, of, controlPlaneArgs } = agents(flags, savedSettings);
    expect(plans.map(({ name }) => name)).toEqual(["old", "new"]);
    expect(of("old")).toEqual(expect.arrayContaining(["--compute-driver", "/mine", "--release", "yoga"]));
    expect(of("new")).toEqual(expect.arrayContaining(["-o", "cpu_allocation_ratio=2"]));
    expect(controlPlaneArgs).toContain("/nova.conf");
    expect(controlPlaneArgs).toContain("--disable-compute-service-check-for-ffu");
  });

  it("keep the driver of the bare-metal nodes' agent", () => {
    const { of, hosts } = agents({ ...OPTIONS, ironic: 2, driver: "./mine" });
    expect(hosts).toEqual(["devstack1", "devstack2", "ironic1"]);
    expect(of("ironic1")).toEqual(["--config-file", "/here/st/ironic/agent.conf"]);
  });

  it("pass listener flags only to the control plane", () => {
    const listen = { address: "2001:db8::2", port: 8775 };
    const { controlPlaneArgs, of } = agents({ ...OPTIONS, listen });
    expect(controlPlaneArgs).toEqual(["--listen", "[2001:db8::2]:8775"]);
    expect(of("devstack1")).toEqual([]);
  });

  it("receive --change-driver", () => {
    expect(agents({ ...OPTIONS, changeDriver: true }).of("devstack1")).toContain("--change-driver");
  });
});

describe("the arguments of one host", () => {
  it("are empty by default", () => {
    expect(hostArguments({ configFiles: [] })).toEqual([]);
  });
});
