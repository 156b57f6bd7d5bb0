import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type FaultAction,
  type FaultRule,
  faultTable,
  formatFaultRule,
  InvalidFault,
  listPoints,
  parseFaultRule,
} from "../../../src/faults/faults.js";
import { property } from "../../fixtures/property.js";

const KINDS = ["fail", "hang", "slow", "lose-answer", "status", "refuse", "partition"] as const;
const TABLE = faultTable([
  { point: "driver.spawn", kinds: ["fail", "hang", "slow", "lose-answer"], errors: ["BuildAbortException"] },
  { point: "placement.put", kinds: ["status", "lose-answer", "refuse", "slow", "hang"] },
  { point: "conductor", kinds: ["partition"] },
  { point: "agent.build.claim", kinds: ["fail"] },
  { point: "any", kinds: KINDS, errors: ["BuildAbortException"] },
]);

describe("the syntax of fault rules", () => {
  test.each<[string, FaultAction, number | null]>([
    ["driver.spawn=fail", { kind: "fail" }, null],
    ["driver.spawn=fail:once", { kind: "fail" }, 1],
    ["driver.spawn=fail:always", { kind: "fail" }, null],
    ["driver.spawn=fail:BuildAbortException:2", { kind: "fail", error: "BuildAbortException" }, 2],
    ["driver.spawn=hang", { kind: "hang", milliseconds: null }, null],
    ["driver.spawn=hang:30s", { kind: "hang", milliseconds: 30_000 }, null],
    ["driver.spawn=hang:once", { kind: "hang", milliseconds: null }, 1],
    ["driver.spawn=slow:2s", { kind: "slow", milliseconds: 2_000 }, null],
    ["driver.spawn=slow:1.5s:3", { kind: "slow", milliseconds: 1_500 }, 3],
    ["driver.spawn=lose-answer:once", { kind: "lose-answer" }, 1],
    ["placement.put=409:4", { kind: "status", status: 409 }, 4],
    ["placement.put=500", { kind: "status", status: 500 }, null],
    ["placement.put=refuse:once", { kind: "refuse" }, 1],
    ["conductor=partition:2m", { kind: "partition", milliseconds: 120_000 }, null],
    ["conductor=partition", { kind: "partition", milliseconds: null }, null],
  ])("%s", (text, action, times) => {
    expect(parseFaultRule(text, TABLE)).toEqual({ point: text.split("=")[0], action, times });
  });

  test.each([
    [
      "driver.spwan=fail",
      /there is no fault point driver.spwan. Did you mean driver.spawn\? `compute-agent fault points`/,
    ],
    ["nonsense=fail", /there is no fault point nonsense. Those that exist:\n {2}driver.spawn\n {4}=fail/],
    [
      "agent.build.claim=fail:Error",
      /cannot be set to fail:Error; expected agent.build.claim=fail\[:TIMES\]. DURATION/,
    ],
    ["=fail", /no fault point without a name/],
    ["driver.spawn", /driver.spawn cannot be set to nothing; expected driver.spawn=fail\[:Error\]\[:TIMES\] or hang/],
    ["driver.spawn=409", /cannot be set to 409; .* Error is one of BuildAbortException/],
    ["driver.spawn=fail:Nonsense", /cannot be set to fail:Nonsense/],
    ["driver.spawn=fail:once:twice", /cannot be set/],
    ["driver.spawn=fail:0", /cannot be set/],
    ["driver.spawn=slow", /or slow:DURATION/],
    ["driver.spawn=slow:2", /DURATION is 500ms, 30s or 5m/],
    ["driver.spawn=fail=once", /cannot be set/],
    ["placement.put=200", /cannot be set to 200; expected placement.put=STATUS/],
    ["placement.put=fail", /cannot be set to fail/],
    ["conductor=partition:30s:once", /cannot be set/],
  ])("%s is rejected with a list of the valid ones", (text, message) => {
    expect(() => parseFaultRule(text, TABLE)).toThrow(InvalidFault);
    expect(() => parseFaultRule(text, TABLE)).toThrow(message);
  });

  const milliseconds = fc.integer({ min: 1, max: 99_999_999 });
  const action = fc.oneof(
    fc.constantFrom<FaultAction>(
      { kind: "fail" },
      { kind: "fail", error: "BuildAbortException" },
      { kind: "hang", milliseconds: null },
      { kind: "lose-answer" },
      { kind: "refuse" },
    ),
    milliseconds.map((time): FaultAction => ({ kind: "hang", milliseconds: time })),
    milliseconds.map((time): FaultAction => ({ kind: "slow", milliseconds: time })),
    fc.integer({ min: 400, max: 599 }).map((status): FaultAction => ({ kind: "status", status })),
  );
  const times = fc.option(fc.integer({ min: 1, max: 99_999 }), { nil: null });
  const faultRule = fc.record({ point: fc.constant("any"), action, times });

  property([faultRule])("a formatted rule is parsed to the same rule", (rule: FaultRule) => {
    expect(parseFaultRule(formatFaultRule(rule), TABLE)).toEqual(rule);
  });

  property([fc.string()])("anything else is rejected as invalid", (text) => {
    try {
      parseFaultRule(`any=${text}`, TABLE);
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidFault);
    }
  });
});

test("the list of points fits a terminal, and breaks no name", () => {
  const names = Array.from({ length: 40 }, (_, index) => `agent.some_operation.step_${index}`);
  const lines = listPoints(names.map((point) => ({ point, kinds: ["fail"] }))).split("\n");
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.slice(0, -1).join(" ").split(/,? +/).filter(Boolean)).toEqual(names);
});
