import { describe, expect, it } from "vitest";
import { whilePaused } from "../../../../../src/cli/cluster/snapshot/live-snapshot.js";
import { stateDir } from "../../../../../src/control-plane/local/state-dir.js";
import type { Programs } from "../../../../../src/runtime/processes.js";

const directory = stateDir("/cluster", "/");

/** Creates the programs of a machine on which these pids are alive. */
function machine(...alive: readonly number[]) {
  const done: string[] = [];
  let now = 0;
  const programs: Pick<Programs, "look" | "signal" | "start"> = {
    look: async (pid) => (alive.includes(pid) ? { pid, started: String(pid), argv: [] } : undefined),
    signal: async ({ pid }, signal) => {
      done.push(`${signal} ${pid}`);
      return true;
    },
    start: async ({ argv }) => {
      done.push(argv.join(" "));
      return { pid: 1, started: "1" };
    },
  };
  const runtime = {
    programs: programs as Programs,
    clock: { now: () => now, monotonic: () => now },
    timers: { sleep: async () => undefined, after: () => () => undefined },
  };
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { done, runtime, pass };
}

describe("a cluster that is suspended while it is saved", () => {
  it("suspends agents first, resumes in the opposite order, and resumes even if the command dies", async () => {
    const { done, runtime } = machine(11, 12, 20);
    await whilePaused([11, 99, 12, 11, 20], { directory, runtime }, () => void done.push("work"));
    expect(done).toEqual([
      "/bin/sh -c sleep 1; kill -CONT 11 12 20",
      "SIGSTOP 11",
      "SIGSTOP 12",
      "SIGSTOP 20",
      "work",
      "SIGCONT 20",
      "SIGCONT 12",
      "SIGCONT 11",
      "SIGKILL 1",
    ]);
  });

  it("does not resume a process that was already suspended, and reports it", async () => {
    const { done, runtime } = machine(11, 12);
    const { look } = runtime.programs;
    runtime.programs.look = async (pid) => {
      const found = await look(pid);
      return found === undefined || pid !== 12 ? found : { ...found, suspended: true };
    };
    await whilePaused([11, 12, 13], { directory, runtime }, (_check, found) => {
      done.push(`11 ${found.get(11)?.suspended}, 12 ${found.get(12)?.suspended}, 13 ${found.has(13)}`);
    });
    const [, ...signals] = done;
    expect(signals).toEqual(["SIGSTOP 11", "11 undefined, 12 true, 13 false", "SIGCONT 11", "SIGKILL 1"]);
  });

  it("resumes after a failure, and rejects work that takes longer than the limit", async () => {
    const { done, runtime, pass } = machine(11);
    const late = whilePaused([11], { directory, runtime }, (check) => {
      check();
      pass(900);
      check();
    });
    await expect(late).rejects.toThrow("would have been suspended for 900 ms");
    expect(done.slice(-2)).toEqual(["SIGCONT 11", "SIGKILL 1"]);
  });

  it("has no limit if nothing runs", async () => {
    const { done, runtime, pass } = machine();
    await whilePaused([99], { directory, runtime }, (check) => {
      pass(5_000);
      check();
    });
    expect(done).toEqual([]);
  });
});
