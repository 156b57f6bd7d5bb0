import { describe, expect, test } from "vitest";
import type { Service } from "../../../../src/records/index.js";
import { TrackerStage } from "../support/tracker-stage.js";

const REQUEST = { requestId: "req-1" };
const DISABLED = "COMPUTE_STATUS_DISABLED";

function having(...traits: readonly string[]): TrackerStage {
  const stage = new TrackerStage();
  stage.replies["placement.getProviderTraits"] = { traits, generation: 4 };
  return stage;
}
const ASK = ["placement.getProviderTraits", "node-uuid", REQUEST];
const put = (...traits: readonly string[]) => [
  "placement.setTraitsForProvider",
  "node-uuid",
  { traits, generation: 4 },
  REQUEST,
];

describe("2.5 COMPUTE_STATUS_DISABLED on every node", () => {
  test.each([
    [false, ["CUSTOM_A"], [put("CUSTOM_A", DISABLED)]],
    [true, ["CUSTOM_A", DISABLED], [put("CUSTOM_A")]],
    [false, [DISABLED], []],
    [true, ["CUSTOM_A"], []],
  ])("enabled %s, with %j: written only where it differs", async (enabled, traits, writes) => {
    const stage = having(...traits);
    await stage.subject.setHostEnabled(enabled, REQUEST.requestId);
    expect(stage.did).toEqual([ASK, ...writes]);
    expect(stage.state.binding.disabled, "what is written between passes must not undo it").toBe(!enabled);
  });

  test.each([
    [true, "could not be removed"],
    [false, "could not be set"],
  ])("a failure (enabled %s) only warns: the next pass does it", async (enabled, text) => {
    const stage = having();
    stage.replies["placement.getProviderTraits"] = new Error("Placement");
    await stage.subject.setHostEnabled(enabled, REQUEST.requestId);
    expect(stage.runtime.logs).toMatchObject([
      { level: "warn", message: expect.stringContaining(text), fields: { node: "node", request_id: "req-1" } },
    ]);
  });

  test("a host without nodes has nothing to enable, and that is said; one with nodes has", async () => {
    const stage = new TrackerStage({ nodes: [] });
    await stage.subject.setHostEnabled(true, REQUEST.requestId);
    expect(stage.logged("the host has no compute node")).toBe(1);
    const other = having();
    await other.subject.setHostEnabled(true, REQUEST.requestId);
    expect(other.runtime.logs).toEqual([]);
  });
});

describe("consecutive_build_service_disable_threshold", () => {
  const counted = (stage: TrackerStage) => stage.node().failedBuilds;

  test("failures count up, a success starts again", () => {
    const stage = new TrackerStage();
    stage.subject.noteBuild("node", "failed");
    stage.subject.noteBuild("node", "failed");
    expect(counted(stage)).toBe(2);
    stage.subject.noteBuild("node", "succeeded");
    expect(counted(stage)).toBe(0);
  });

  test("0: nothing is counted; nor of a node that is not known", () => {
    const stage = new TrackerStage({ options: { consecutiveBuildServiceDisableThreshold: 0 } });
    stage.subject.noteBuild("node", "failed");
    stage.subject.noteBuild("gone", "failed");
    expect(counted(stage)).toBe(0);
  });
});

describe("2.1 step 5 the tracker's service", () => {
  const service = (changes: Partial<Service>) => ({ id: 3, host: "here", disabled: true, ...changes }) as Service;

  test("is bound with its state, again and again", () => {
    const { state, subject } = new TrackerStage();
    state.binding.serviceId = null;
    subject.bindService(service({}));
    subject.bindService(service({ disabled: false }));
    expect(state.binding).toMatchObject({ serviceId: 3, disabled: false });
  });

  test("another one, or another host's, is refused", () => {
    const { state, subject } = new TrackerStage();
    expect(() => subject.bindService(service({ id: 4 }))).toThrow(
      expect.objectContaining({ name: "ComputeServiceInUse" }),
    );
    expect(() => subject.bindService(service({ host: "there" }))).toThrow(
      expect.objectContaining({ name: "ServiceNotUnique" }),
    );
    expect(state.binding).toMatchObject({ serviceId: 3, disabled: false });
  });
});
