import { describe, expect, test } from "vitest";
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
});
