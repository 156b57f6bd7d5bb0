import { describe, expect, test } from "vitest";
import type { AgentContext } from "../../../../src/agent/context.js";
import { createResourceTracker } from "../../../../src/agent/tracker/resource-tracker.js";
import { trackerOptions } from "../../../../src/agent/tracker/tracker-state.js";
import { compileNovaConfig } from "../../../../src/config/nova-config.js";
import { NO_SOURCES } from "../../../fixtures/no-sources.js";
import { TrackerStage } from "../support/tracker-stage.js";

describe("4.10 what the tracker reads of nova.conf", () => {
  const { config } = compileNovaConfig(NO_SOURCES, { stateDir: "/state", hostname: "test" });

  test("each option is its own, and quirks say what upstream does", () => {
    const numbers = {
      cpuAllocationRatio: 1,
      ramAllocationRatio: 2,
      diskAllocationRatio: 3,
      initialCpuAllocationRatio: 4,
      initialRamAllocationRatio: 5,
      initialDiskAllocationRatio: 6,
      reservedHostCpus: 7,
      reservedHostMemoryMb: 8,
      reservedHostDiskMb: 9,
    };
    const compute = {
      imageTypeExcludeList: ["iso"],
      providerConfigLocation: "/here",
      consecutiveBuildServiceDisableThreshold: 10,
      leanTracking: true,
      healMovedAllocations: true,
    };
    const ovs = { ...config.ovs, resourceProviderBandwidths: ["br-phys:1:2"] };
    const quirks = [
      "adopt-foreign-hypervisor",
      "unguarded-node-delete",
      "no-node-undelete",
      "ignore-evacuations-in-error",
      "keep-moves-of-deleted",
    ] as const;
    const optionsWith = (upstreamQuirks: ReadonlySet<string>) =>
      trackerOptions({
        ...config,
        defaults: { ...config.defaults, ...numbers },
        compute: { ...config.compute, ...compute },
        ovs,
        workarounds: { ...config.workarounds, upstreamQuirks },
      } as never);
    const none = {
      exclusiveNames: true,
      unguardedNodeDelete: false,
      noNodeUndelete: false,
      ignoreErroredEvacuations: false,
      keepLeftMoves: false,
    };
    expect(optionsWith(new Set())).toEqual({ ...numbers, ...compute, ...none, ovs });
    const names = [
      "exclusiveNames",
      "unguardedNodeDelete",
      "noNodeUndelete",
      "ignoreErroredEvacuations",
      "keepLeftMoves",
    ] as const;
    for (const [at, quirk] of quirks.entries()) {
      const name = names[at] ?? "exclusiveNames";
      expect(optionsWith(new Set([quirk]))).toEqual({ ...numbers, ...compute, ...none, ovs, [name]: !none[name] });
    }
  });

  test("a tracker that is made knows no node yet", async () => {
    const stage = new TrackerStage();
    const context = {
      ...stage.context,
      config,
      runtime: { ...stage.context.runtime, files: stage.runtime.files },
    } as AgentContext;
    expect((await createResourceTracker(context)).nodes()).toEqual(new Map());
  });
});
