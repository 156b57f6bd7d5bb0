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

describe("sabotage of a driver's doors", () => {
  test("breaks a start before it, or after it: the process runs and nobody has heard of it", async () => {
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

  test("breaks a stream whose line has arrived, and lets it be closed", async () => {
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

  test("breaks a door that the driver has registered, but for what only looks", async () => {
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
