import { describe, expect, test } from "vitest";
import { Sabotage } from "../../../src/testing/driver-instrumentation.js";
import type { DriverContext } from "../../../src/virt/index.js";
import { virtualContext } from "../virt/fixtures.js";

const KILLED = "the agent was killed here";

function sabotaged() {
  const { runtime, context } = virtualContext();
  const sabotage = new Sabotage();
  const unchanged: DriverContext["ownAdapter"] = (adapter) => adapter;
  const fullContext: DriverContext = { ...context, ownAdapter: unchanged, ownDoor: unchanged, emitEvent: () => {} };
  return { runtime, sabotage, driverContext: sabotage.over(fullContext) };
}

describe("sabotage of a driver's interfaces", () => {
  test("cuts off a start before or after it took effect: the process runs and the response is lost", async () => {
    const { runtime, sabotage, driverContext } = sabotaged();
    const begun: string[] = [];
    runtime.machine.programs.install("guest", ({ argv }) => void begun.push(argv.join(" ")));
    const start = () => driverContext.processes.start({ argv: ["guest", `${begun.length}`], logFile: "/log" });
    sabotage.arm(1);
    await expect(start()).rejects.toThrow(KILLED);
    expect(begun).toEqual([]);
    sabotage.arm(2);
    await expect(start()).rejects.toThrow(KILLED);
    expect(begun).toEqual(["guest 0"]);
    await expect(driverContext.processes.look(1)).rejects.toThrow(KILLED);
    sabotage.disarm();
    const found = await start();
    expect(await driverContext.processes.look(found.pid)).toEqual({ ...found, argv: ["guest", "1"] });
  });

  test("cuts off a stream after a line has arrived, and allows closing it", async () => {
    const { runtime, sabotage, driverContext } = sabotaged();
    const arrived: (string | null)[] = [];
    runtime.machine.programs.install("guest", ({ listen }) =>
      listen("/socket", (stream) => void stream.readLine().then((line) => arrived.push(line))),
    );
    await driverContext.processes.start({ argv: ["guest"], logFile: "/log" });
    const stream = await driverContext.sockets.connect({ path: "/socket" });
    sabotage.arm(2);
    await expect(stream.write("stop\n")).rejects.toThrow(KILLED);
    await expect(stream.readLine()).rejects.toThrow(KILLED);
    stream.close();
    expect(arrived).toEqual(["stop"]);
  });

  test("cuts off a registered adapter, except its read-only methods", async () => {
    const { sabotage, driverContext } = sabotaged();
    const done: string[] = [];
    const library = driverContext.ownAdapter(
      { change: async () => void done.push("changed"), see: async () => done.length },
      ["see"],
    );
    sabotage.arm(2);
    expect(await library.see()).toBe(0);
    await expect(library.change()).rejects.toThrow(KILLED);
    expect(done).toEqual(["changed"]);
    await expect(library.see()).rejects.toThrow(KILLED);
  });
});
