import { afterEach, describe, expect, test, vi } from "vitest";
import { driverRecordPath } from "../../../../src/agent/identity-file.js";
import { AGENT_FAULTS } from "../../../../src/cli/agent/agent-faults.js";
import {
  allPointGroups,
  faultCommand,
  pointGroupsOfHost,
  pointsJson,
  pointsText,
} from "../../../../src/cli/cluster/fault.js";
import { IRONIC_FAULTS } from "../../../../src/control-plane/bare-metal/provision-states.js";
import { BLOCK_STORAGE_FAULTS } from "../../../../src/control-plane/block-storage/work/run-work.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const EVERY_POINT = [...AGENT_FAULTS.keys(), ...IRONIC_FAULTS.keys(), ...BLOCK_STORAGE_FAULTS.keys()];

function namesOf(groups: ReturnType<typeof allPointGroups>): readonly string[] {
  return groups.map(({ program, name }) => `${name} (${program})`);
}

describe("compute-agent fault points", () => {
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = undefined;
  });

  test("lists every point of agents and of embedded services without a host and without a cluster", async () => {
    let printed = "";
    vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      printed += String(text);
      return true;
    });
    await faultCommand().parseAsync(["--state-dir", "/nowhere/at-all", "points", "--json"], { from: "user" });
    expect(process.exitCode).toBe(0);
    const rows = JSON.parse(printed) as readonly { readonly point: string }[];
    expect(rows.map(({ point }) => point)).toEqual(EVERY_POINT);
  });

  test("groups the points by program and first word, in text and in JSON", () => {
    const groups = allPointGroups();
    expect(namesOf(groups)).toEqual([
      "driver (agent)",
      "placement (agent)",
      "ironic (agent)",
      "conductor (agent)",
      "network (agent)",
      "agent (agent)",
      "hardware (embedded Ironic)",
      "api (embedded Ironic)",
      "volume (embedded Block Storage)",
      "snapshot (embedded Block Storage)",
      "backup (embedded Block Storage)",
      "group (embedded Block Storage)",
      "group_snapshot (embedded Block Storage)",
    ]);
    const text = pointsText(groups);
    for (const name of namesOf(groups)) {
      expect(text).toContain(`${name}\n  `);
    }
    expect(text).toContain("Error is one of ");
    expect(JSON.parse(pointsJson(groups))).toContainEqual({
      program: "embedded Ironic",
      group: "hardware",
      point: "hardware.validate",
      settings: ["fail[:TIMES]"],
      errors: [],
    });
  });

  test("offers requests to Ironic only for a host whose driver sends them", async () => {
    const { files } = createVirtualRuntime();
    const record = (host: string, driver: string) =>
      files.write(driverRecordPath(`/agents/${host}`, host), `${driver}\n${driver}\n`);
    await record("metal", "ironic");
    await record("devstack1", "fake-libvirt");
    const names = async (host: string) =>
      (await pointGroupsOfHost(files, `/agents/${host}`, host)).map(({ name }) => name);
    expect(await names("metal")).toContain("ironic");
    expect(await names("devstack1")).toEqual(["driver", "placement", "conductor", "network", "agent"]);
    expect(await names("new")).toContain("ironic");
  });
});
