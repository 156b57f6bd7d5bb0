import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { STEP_NAMES } from "../../../../src/agent/operations/table.js";
import { AGENT_FAULTS, openFaults } from "../../../../src/cli/agent/agent-faults.js";
import { setFaults } from "../../../../src/faults/fault-file.js";
import { parseFaultRule } from "../../../../src/faults/faults.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { DRIVER_METHODS } from "../../../../src/virt/driver-methods.js";

describe("the fault points of an agent", () => {
  test("include the driver's methods, Placement, the conductor, and each step of each operation", () => {
    const points = [...AGENT_FAULTS.keys()];
    expect(points).toEqual(expect.arrayContaining(["placement", "placement.put", "placement.post.allocations"]));
    expect(points).toContain("conductor");
    for (const method of Object.keys(DRIVER_METHODS)) {
      if (method !== "getHostIpAddr") {
        expect(points).toContain(`driver.${method}`);
      }
    }
    const steps = Object.entries(STEP_NAMES).flatMap(([operation, names]) =>
      names.map((step) => `agent.${operation}.${step}`),
    );
    expect(points.filter((point) => point.startsWith("agent.")).sort()).toEqual(steps.sort());
  });

  test("include the examples of the documentation", async () => {
    const text = await readFile(new URL("../../../../docs/how-to/inject-faults.md", import.meta.url), "utf8");
    const faultRules = [...text.matchAll(/(?<=\s)(?:driver|placement|conductor|agent)[\w.]*=\S+/g)].map(
      ([faultRule]) => faultRule,
    );
    expect(faultRules.length).toBeGreaterThan(3);
    for (const faultRule of faultRules) {
      expect(() => parseFaultRule(faultRule, AGENT_FAULTS), faultRule).not.toThrow();
    }
    const points = [...text.matchAll(/`((?:driver|placement|agent)\.[\w.]+)`/g)].map(([, point = ""]) => point);
    expect(points.length).toBeGreaterThan(3);
    for (const point of points) {
      expect([...AGENT_FAULTS.keys()]).toContain(point);
    }
  });

  test("are read from the agent's state_path", async () => {
    const runtime = createVirtualRuntime();
    const file = await openFaults("/state/devstack1", runtime);
    await setFaults("/state/devstack1", [parseFaultRule("conductor=partition:30s", AGENT_FAULTS)], runtime);
    await runtime.advance(1);
    expect(file.faults.peek("conductor")).toMatchObject({ kind: "partition" });
    expect(runtime.logs).toMatchObject([{ message: "fault set: conductor=partition:30s" }]);
    await file.close();
  });
});
