import { describe, expect, test } from "vitest";
import { NO_METRICS } from "../../../../../src/agent/metrics/metrics.js";
import { driverTraceFile, traceDriver } from "../../../../../src/cli/agent/driver-trace.js";
import { callsText, driverCalls, isTraced } from "../../../../../src/cli/cluster/smoke-test/smoke-test-command.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";

const VM = "11111111-1111-4111-8111-111111111111";
const OTHER = "22222222-2222-4222-8222-222222222222";

function line(at: number, method: string, instance = VM, outcome = "success") {
  return `${JSON.stringify({ at, method, instance, milliseconds: 1, outcome })}\n`;
}

describe("driverCalls", () => {
  test("returns the calls about one guest since a time, of all hosts, ordered by start", async () => {
    const { files } = createVirtualRuntime();
    await files.write(driverTraceFile("/agents/a"), line(5, "spawn") + line(12, "powerOff") + line(13, "spawn", OTHER));
    await files.write(driverTraceFile("/agents/b"), line(11, "prepareForSpawn"));
    await files.write("/agents/untraced/compute_id", "x");
    const calls = await driverCalls(files, "/agents", VM, 10);
    expect(calls.map(({ host, method }) => [host, method])).toEqual([
      ["b", "prepareForSpawn"],
      ["a", "powerOff"],
    ]);
    expect(callsText(calls)).toBe("b: prepareForSpawn, a: powerOff");
  });

  test("ignores an incomplete line", async () => {
    const { files } = createVirtualRuntime();
    await files.write(driverTraceFile("/agents/a"), `${line(1, "spawn")}${line(2, "destroy").slice(0, 20)}`);
    expect((await driverCalls(files, "/agents", VM, 0)).map(({ method }) => method)).toEqual(["spawn"]);
    await files.write(driverTraceFile("/agents/a"), line(2, "destroy").slice(0, 20));
    expect(await driverCalls(files, "/agents", VM, 0)).toEqual([]);
  });

  test("reads are omitted, and a failed call is followed by its outcome", () => {
    const call = (method: string, outcome = "success") => ({
      host: "a",
      at: 0,
      instance: VM,
      milliseconds: 1,
      method,
      outcome,
    });
    expect(callsText([call("getInfo"), call("spawn", "timeout"), call("destroy")])).toBe("spawn (timeout), destroy");
    expect(callsText([])).toBe("");
  });
});

describe("traceDriver", () => {
  test("writes calls about guests with their start, besides counting them in metrics", async () => {
    const runtime = createVirtualRuntime();
    const counted: string[] = [];
    const metrics = { ...NO_METRICS, driverCall: (method: string) => void counted.push(method) };
    expect(await isTraced(runtime.files, "/agents")).toBe(false);
    await runtime.files.write(driverTraceFile("/agents/a"), line(1, "of an earlier agent"));
    const traced = await traceDriver(metrics, "/agents/a", runtime);
    await runtime.advance(1_000);
    const ended = runtime.clock.now();
    traced.driverCall("spawn", 400, "success", VM);
    traced.driverCall("getAvailableNodes", 1, "success", undefined);
    traced.driverCall("destroy", 0, "error", VM);
    await runtime.advance(1);
    expect(counted).toEqual(["spawn", "getAvailableNodes", "destroy"]);
    expect(await driverCalls(runtime.files, "/agents", VM, 0)).toEqual([
      { host: "a", at: ended - 400, method: "spawn", instance: VM, milliseconds: 400, outcome: "success" },
      { host: "a", at: ended, method: "destroy", instance: VM, milliseconds: 0, outcome: "error" },
    ]);
    expect(await isTraced(runtime.files, "/agents")).toBe(true);
  });
});
