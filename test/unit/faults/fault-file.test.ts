import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { areNoticed, clearFaults, FaultFile, readFaults, setFaults } from "../../../src/faults/fault-file.js";
import { type FaultRule, faultTable, parseFaultRule } from "../../../src/faults/faults.js";
import { type Bench, benches } from "../runtime/both-runtimes.js";

const TABLE = faultTable([
  { point: "driver.spawn", kinds: ["fail", "hang"] },
  { point: "driver.destroy", kinds: ["fail"] },
]);
const toFaultRule = (text: string): FaultRule => parseFaultRule(text, TABLE);

describe.each(benches)("8.8 faults in a file (%s)", (_name, openBench) => {
  let bench: Bench;
  let folder: string;
  const agents: FaultFile[] = [];

  /** Starts an agent. */
  const agent = async () => {
    const file = new FaultFile(folder, TABLE, bench.runtime);
    await bench.run(file.open());
    agents.push(file);
    return file;
  };
  const set = (...rules: string[]) => setFaults(folder, rules.map(toFaultRule), bench.runtime);
  /** Resolves when a change has led to the expected faults; a notification may belong to an older change. */
  const waitForChange = (file: FaultFile, change: () => Promise<unknown>, isExpected: (points: string[]) => boolean) =>
    bench.run(
      (async () => {
        const changed = new Promise<void>((resolve) => {
          const stop = file.faults.onChange(() => {
            if (isExpected(file.faults.faults.map(({ point, times }) => `${point} ${times}`))) {
              stop();
              resolve();
            }
          });
        });
        await change();
        await changed;
      })(),
    );

  beforeEach(async () => {
    bench = await openBench();
    folder = `${bench.folder}/agents/devstack1`;
  });
  afterEach(async () => {
    for (const file of agents.splice(0)) {
      await bench.run(file.close());
    }
    await bench.dispose();
  });

  it("a fault set before the start is known at once", async () => {
    await set("driver.spawn=fail:once");
    const { faults } = await agent();
    expect(faults.peek("driver.spawn")).toEqual({ kind: "fail" });
  });

  it("a host without faults writes nothing, and ignores its other files", async () => {
    const { files } = bench.runtime;
    const read: string[] = [];
    const readIfPresent = (path: string) => {
      read.push(path);
      return files.readIfPresent(path);
    };
    let notifyWatcher: (names?: readonly string[]) => void = () => undefined;
    const followed = {
      readIfPresent,
      makeFolder: (path: string) => files.makeFolder(path),
      write: (path: string, text: string) => files.write(path, text),
      watch: (_folder: string, listener: typeof notifyWatcher) => {
        notifyWatcher = listener;
        return () => undefined;
      },
    };
    const deps = { ...bench.runtime, files: followed as unknown as typeof files };
    const file = new FaultFile(folder, TABLE, deps);
    await bench.run(file.open());
    agents.push(file);
    read.length = 0;
    notifyWatcher(["compute_id"]);
    notifyWatcher(["faults-used.json"]);
    await bench.run(file.close());
    expect(read).toEqual([]);
    expect(await files.list(folder)).toEqual([]);
    const next = new FaultFile(folder, TABLE, deps);
    await bench.run(next.open());
    agents.push(next);
    await set("driver.spawn=fail");
    for (const names of [["compute_id", "faults.json"], undefined]) {
      read.length = 0;
      notifyWatcher(names);
      await bench.run(bench.runtime.timers.sleep(0));
      expect(read).not.toEqual([]);
    }
  });

  it("faults set and cleared while it runs are applied and confirmed", async () => {
    const file = await agent();
    let ids: readonly string[] = [];
    await waitForChange(
      file,
      async () => {
        ids = await set("driver.spawn=fail", "driver.destroy=fail:2");
      },
      (points) => points.length === 2,
    );
    expect(file.faults.faults).toHaveLength(2);
    await bench.run(file.close());
    expect(await areNoticed(folder, ids, bench.runtime)).toBe(true);
    expect(await areNoticed(folder, [...ids, "other"], bench.runtime)).toBe(false);

    const next = await agent();
    await waitForChange(
      next,
      () => clearFaults(folder, ["driver.spawn"], bench.runtime),
      (points) => points.length === 1,
    );
    expect(next.faults.faults.map(({ point }) => point)).toEqual(["driver.destroy"]);
  });

  it("a used-up fault does not return with a restart, nor with another fault", async () => {
    await set("driver.spawn=fail:once", "driver.destroy=fail:3");
    const first = await agent();
    first.faults.decide("driver.spawn");
    first.faults.decide("driver.destroy");
    await bench.run(first.close());

    const second = await agent();
    expect(second.faults.peek("driver.spawn")).toBeUndefined();
    expect(await readFaults(folder, TABLE, bench.runtime)).toMatchObject([
      { point: "driver.spawn", times: 1, used: 1 },
      { point: "driver.destroy", times: 3, used: 1 },
    ]);
    await waitForChange(
      second,
      () => set("driver.destroy=fail:once"),
      (points) => points.includes("driver.destroy 1"),
    );
    expect(second.faults.peek("driver.spawn")).toBeUndefined();
    await waitForChange(
      second,
      () => set("driver.spawn=fail:once"),
      () => second.faults.peek("driver.spawn") !== undefined,
    );
    expect(second.faults.peek("driver.spawn")).toEqual({ kind: "fail" });
  });

  it("clearing returns the cleared rules; without a point it clears all", async () => {
    await set("driver.spawn=fail:once", "driver.destroy=fail");
    expect(await clearFaults(folder, ["driver.destroy"], bench.runtime)).toEqual(["driver.destroy=fail"]);
    expect(await clearFaults(folder, [], bench.runtime)).toEqual(["driver.spawn=fail:once"]);
    expect(await clearFaults(folder, [], bench.runtime)).toEqual([]);
  });

  it("an invalid file is rejected by name; an agent starts without faults", async () => {
    await bench.runtime.files.write(`${folder}/faults.json`, "[1]");
    await expect(readFaults(folder, TABLE, bench.runtime)).rejects.toThrow(
      /faults.json is not a valid fault file; remove it/,
    );
    const file = await agent();
    expect(file.faults.faults).toEqual([]);
  });
});
