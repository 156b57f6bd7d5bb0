import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodeProcesses } from "../../src/runtime/node/node-processes.js";
import { Program } from "../process/support/program.js";

const FIXTURE = join(dirname(dirname(fileURLToPath(import.meta.url))), "fixtures/file-driver");
const CHECK = join(FIXTURE, "check.js");

interface Result {
  readonly code: string;
  readonly outcome: string;
  readonly message?: string;
  readonly milliseconds: number;
}

describe("driver check runs rules in child processes", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "driver-check-test-"));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  /** Writes a variant of the correct driver. In `create`, `right` is the original definition. */
  async function driverThat(name: string, create: string, top = ""): Promise<string> {
    const file = join(folder, `${name}.mjs`);
    const text = `import { driver as right } from ${JSON.stringify(join(FIXTURE, "index.js"))};
export { check } from ${JSON.stringify(CHECK)};
${top}
export const driver = { ...right, create: (context) => { ${create} } };
`;
    await writeFile(file, text);
    return file;
  }

  const methods = (name: string, text: string) =>
    driverThat(name, `const made = right.create(context); return Object.assign(made, { ${text} });`);

  function check(driver: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Program {
    return new Program("compute-agent", ["driver", "check", driver, ...args], environment);
  }

  async function results(driver: string, only: readonly string[], args: readonly string[] = []) {
    const program = check(driver, ["--json", ...only.flatMap((code) => ["--only", code]), ...args]);
    const { code } = await program.exited;
    expect(program.stdout, program.stderr).toMatch(/^\{/);
    const report = JSON.parse(program.stdout) as { readonly results: readonly Result[] };
    return { code, results: report.results };
  }

  test("a correct driver that exports its check passes all rules, killed or not, and its guests keep their data", async () => {
    const program = check(FIXTURE, []);
    const { code } = await program.exited;
    expect(code, program.stdout).toBe(0);
    expect(program.stdout).toMatch(/ok +8\.12 disk-live-migration +\d+ ms/);
    expect(program.stdout).toMatch(/fulfils the contract: \d+ passed, 0 failed, \d+ skipped, 0 waived\n$/);
  });

  test("a built-in driver provides the setup of its check", async () => {
    const { code, results: found } = await results("fake-libvirt", ["nodes-are-listed", "live-abort", "tree-reshape"]);
    expect([code, found.map(({ outcome: result }) => result)]).toEqual([0, ["passed", "passed", "passed"]]);
  });

  test("guests in a Map of the module are lost by a kill -9, and interrupted work is not repaired", async () => {
    const mapBackedFiles = `const kept = new Map();
const files = {
  read: async (path) => kept.get(path), readIfPresent: async (path) => kept.get(path), makeFolder: async () => {},
  write: async (path, text) => void kept.set(path, text), remove: async (path) => void kept.delete(path),
  rename: async (from, to) => { kept.set(to, kept.get(from)); kept.delete(from); },
  list: async (path) => [...kept.keys()].filter((key) => key.startsWith(path + "/")).map((key) => key.slice(path.length + 1)),
};`;
    const forgets = await driverThat("forgets", "return right.create({ ...context, files });", mapBackedFiles);
    const alive = await results(forgets, ["guests-outlive-driver", "spawn-runs"]);
    expect(alive.code).toBe(1);
    expect(alive.results).toMatchObject([
      { outcome: "failed", message: expect.stringMatching(/killed \(kill -9\) after spawn, but the guest is absent/) },
      { outcome: "passed" },
    ]);

    const partialDriver = await driverThat(
      "half",
      `const made = right.create(context);
       const { spawn, destroy } = Object.getPrototypeOf(made);
       return Object.assign(made, {
         spawn: async (instance, options) => {
           begun.add(instance.uuid);
           await context.files.write(context.stateFolder + "/" + instance.uuid, "being made");
           await spawn.call(made, instance, options);
           await context.files.remove(context.stateFolder + "/" + instance.uuid);
         },
         destroy: async (instance, options) => {
           if (await context.files.readIfPresent(context.stateFolder + "/" + instance.uuid) && !begun.has(instance.uuid)) {
             throw new Error("somebody else is making it");
           }
           await destroy.call(made, instance, options);
         },
       });`,
      "const begun = new Set();",
    );
    const partialResults = await results(partialDriver, ["spawn-all-or-nothing"]);
    expect(partialResults.results).toMatchObject([
      {
        outcome: "failed",
        message: expect.stringMatching(/kill -9\) in spawn, at I\/O call \d.*somebody else is making it/),
      },
    ]);
  });

  test("a root cause is one failure, however many rules it blocks", async () => {
    const broken = await driverThat("broken", 'throw new Error("no hypervisor at " + context.stateFolder);');
    const program = check(broken, []);
    expect((await program.exited).code).toBe(1);
    expect(program.stdout.match(/^FAILED/gm)).toHaveLength(1);
    expect(program.stdout).toMatch(
      /found: create must succeed here, but it threw Error: driver \S+ create failed: no hypervisor/,
    );
    expect(program.stdout).toMatch(/^- +\d\d+ rules were not reached: create failed as in instances-unchanged$/m);
    expect(program.stdout).toMatch(
      /breaks the contract: 0 passed, 1 failed, \d+ skipped, 0 waived, \d+ not reached|1 failed, 0 skipped/,
    );
  });

  test("a hanging call, an exit and an uncaught error fail their rules by name, and the check continues", async () => {
    const driver = await methods(
      "wild",
      `pause: async () => { for (;;) {} },
       suspend: () => process.exit(3),
       rescue: async () => { console.log("about to rescue"); queueMicrotask(() => { throw new Error("later"); }); await new Promise(() => {}); }`,
    );
    const only = ["pause-state", "unpause-state", "suspend-state", "rescue-state", "power-off-state"];
    const { results: found } = await results(driver, only, ["--limit", "1"]);
    const of = (code: string) => found.find((each) => each.code === code);
    expect(of("pause-state")).toMatchObject({
      outcome: "failed",
      message: "pause must return, but it did not return within 1 s; the process was killed",
    });
    expect(of("unpause-state")).toMatchObject({
      outcome: "unreached",
      message: "pause did not return in pause-state",
    });
    expect(of("suspend-state")).toMatchObject({
      outcome: "failed",
      message: "suspend must not end the process, but it ended (exit code 3)",
    });
    expect(of("rescue-state")?.message).toMatch(/rescue must leave no error uncaught, but .* Error: later/);
    expect(of("power-off-state")).toMatchObject({ outcome: "passed" });
  });

  test("Ctrl-C during a rule ends its processes, sweeps, and leaves no folder", async () => {
    const swept = join(folder, "swept");
    const described = join(folder, "described.mjs");
    await writeFile(
      described,
      `import { appendFileSync } from "node:fs";
import { check as right } from ${JSON.stringify(CHECK)};
export const check = { ...right, sweep: ({ folder }) => { appendFileSync(${JSON.stringify(swept)}, folder + "\\n"); return ["a stray guest"]; } };
`,
    );
    const driver = await methods(
      "stuck",
      'powerOff: () => { console.log("I am " + process.pid); return new Promise(() => {}); }',
    );
    const args = ["--only", "power-off-state", "--verbose", "--with", described];
    const program = check(driver, args, { TMPDIR: folder });
    const [, pid = ""] = await program.printed(/I am (\d+)/);
    program.signal("SIGINT");
    expect((await program.exited).code).toBe(1);
    expect(program.stderr).toMatch(/interrupted; the rules that are not listed did not run/);
    expect(await readFile(swept, "utf8")).toMatch(/power-off-state\n$/);
    expect((await readdir(folder)).filter((name) => /^driver-check-/.test(name))).toEqual([]);
    // The process that adopts an orphan may not have reaped it yet.
    expect(nodeProcesses().isAlive(Number(pid))).toBe(false);
  });

  test("leftovers of a killed process are destroyed by the next one, and swept", async () => {
    const described = join(folder, "sweeps.mjs");
    await writeFile(
      described,
      `import { check as right } from ${JSON.stringify(CHECK)};
export const check = { ...right, sweep: async ({ folder, doors }) => doors.files.list(folder + "/guests/check-host-1") };
`,
    );
    const clean = await methods("hangs", "powerOff: () => new Promise(() => {})");
    const first = check(clean, ["--only", "power-off-state", "--limit", "1", "--with", described]);
    await first.exited;
    expect(first.stderr).not.toMatch(/swept/);
    const leaving = await methods("leaves", "powerOff: () => new Promise(() => {}), destroy: async () => {}");
    const second = check(leaving, ["--only", "power-off-state", "--limit", "1", "--with", described]);
    await second.exited;
    expect(second.stderr).toMatch(/swept leftovers: [0-9a-f-]{36}/);
  });

  test("--only selects rules and rejects unknown ones with a list; --with and the driver's own check must be valid checks", async () => {
    const wrong = check(FIXTURE, ["--only", "spawn"]);
    expect([(await wrong.exited).code, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/there is no rule spawn; there are .*spawn-runs/),
    ]);
    const none = new Program("compute-agent", ["driver", "check", FIXTURE, "--with", join(FIXTURE, "guests.js")]);
    expect([(await none.exited).code, none.stderr]).toEqual([
      2,
      expect.stringContaining("expected an export named check"),
    ]);
    const odd = join(folder, "odd.mjs");
    await writeFile(
      odd,
      `export { driver } from ${JSON.stringify(join(FIXTURE, "index.js"))};\nexport const check = "yes";\n`,
    );
    const own = new Program("compute-agent", ["driver", "check", odd]);
    expect([(await own.exited).code, own.stderr]).toEqual([
      2,
      expect.stringMatching(/odd\.mjs: expected an export named check, .*; found .*yes/),
    ]);
  });
});
