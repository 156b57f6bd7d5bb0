import { describe, expect, it } from "vitest";
import { hostArguments, settingsOf, type UpOptions, upChildren } from "../../../../src/cli/cluster/up-children.js";
import { stateDir } from "../../../../src/cluster/local/state-dir.js";

const OPTIONS: UpOptions = { hosts: 2, stateDir: "st", configFile: [], ironic: 0 };
const absolute = (path: string) => `/here/${path.replace(/^\.\//, "")}`;

function agents(options: UpOptions, kept = {}) {
  const { agents: plans, controlPlaneArgs } = upChildren(
    options,
    stateDir("st", "/here"),
    settingsOf(options, kept, absolute),
    2,
  );
  const of = (host: string) => plans.find(({ hosts }) => hosts.includes(host))?.args ?? [];
  return { plans, hosts: plans.flatMap(({ hosts }) => hosts), of, controlPlaneArgs };
}

describe("what up starts", () => {
  it("gives every host the driver and files that are asked for, by absolute paths", () => {
    const { of, controlPlaneArgs } = agents({ ...OPTIONS, driver: "./mine", configFile: ["nova.conf"] });
    const expected = ["--compute-driver", "/here/mine", "--config-file", "/here/nova.conf", "--trace-driver"];
    expect(of("devstack1")).toEqual(expected);
    expect(of("devstack2")).toEqual(expected);
    expect(controlPlaneArgs).toEqual(["--config-file", "/here/nova.conf"]);
  });

  it("leaves the name of a package or a built-in driver as it is", () => {
    expect(agents({ ...OPTIONS, driver: "@acme/driver" }).of("devstack1")).toContain("@acme/driver");
  });

  it("goes on with what each came up with before", () => {
    const kept = {
      "control-plane": { configFiles: ["/old/nova.conf"] },
      devstack1: { driver: "/old/driver", configFiles: ["/old/nova.conf"] },
    };
    const { of, controlPlaneArgs } = agents(OPTIONS, kept);
    expect(of("devstack1").slice(0, 4)).toEqual(["--compute-driver", "/old/driver", "--config-file", "/old/nova.conf"]);
    expect(of("devstack2")).toEqual([]);
    expect(controlPlaneArgs).toEqual(["--config-file", "/old/nova.conf"]);
    expect(agents({ ...OPTIONS, driver: "new", configFile: ["/new.conf"] }, kept).of("devstack1")).not.toContain(
      "/old/driver",
    );
  });

  it("leaves the agent of the bare-metal nodes its own driver", () => {
    const { of, hosts } = agents({ ...OPTIONS, ironic: 2, driver: "./mine" });
    expect(hosts).toEqual(["devstack1", "devstack2", "ironic1"]);
    expect(of("ironic1")).toEqual(["--config-file", "/here/st/ironic/agent.conf"]);
  });

  it("opens a door for other machines in the control plane alone", () => {
    const listen = { address: "2001:db8::2", port: 8775 };
    const { controlPlaneArgs, of } = agents({ ...OPTIONS, listen });
    expect(controlPlaneArgs).toEqual(["--listen", "[2001:db8::2]:8775"]);
    expect(of("devstack1")).toEqual([]);
  });

  it("hands --change-driver on", () => {
    expect(agents({ ...OPTIONS, changeDriver: true }).of("devstack1")).toContain("--change-driver");
  });
});

describe("the arguments of one host", () => {
  it("are none where nothing was asked for", () => {
    expect(hostArguments({ configFiles: [] })).toEqual([]);
  });
});
