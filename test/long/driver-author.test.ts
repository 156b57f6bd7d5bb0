import { access, cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LocalCloud } from "../process/support/local-cloud.js";
import { newDriver, run } from "../process/support/new-driver.js";
import { Program } from "../process/support/program.js";

interface SmokeTestRow {
  readonly operation: string;
  readonly outcome: string;
  readonly calls: string;
}

describe("the kit for authors of drivers", () => {
  let folder: string;
  let driver: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "driver-kit-"));
    driver = await newDriver(folder);
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  test("driver new rejects existing folders and invalid package names", async () => {
    const again = await run("compute-agent", ["driver", "new", "my-driver", "--in", folder]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("exists already")]);
    const wrong = await run("compute-agent", ["driver", "new", "My_Driver", "--in", folder]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("expected a name of lower-case letters")]);
  });

  test("a driver from driver new conforms to the contract; a violated rule is reported, with exit code 1", async () => {
    const checkRun = await run("compute-agent", ["driver", "check", driver, "--json"]);
    expect(checkRun.code, checkRun.stdout).toBe(0);
    const report = JSON.parse(checkRun.stdout) as { readonly results: readonly { readonly outcome: string }[] };
    expect(report.results.filter(({ outcome: result }) => result === "passed").length).toBeGreaterThan(40);

    const copy = join(folder, "broken-driver");
    await cp(driver, copy, { recursive: true, verbatimSymlinks: true });
    const file = join(copy, "dist/my-driver.js");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace("await this.#guests.remove(uuid);", "await this.#guests.get(uuid);"));
    const broken = await run("compute-agent", ["driver", "check", copy, "--only", "destroy-absent"]);
    expect(broken.code).toBe(1);
    expect(broken.stdout).toMatch(
      /FAILED {2}8\.2 +destroy-absent \d+ ms\n +rule: +destroy of a missing guest succeeds/,
    );
    expect(broken.stdout).toMatch(/found: destroy must succeed for a missing guest, but it threw InstanceNotFound/);
  });

  test("driver sample prints the sample that driver new wrote, and includes an added option", async () => {
    const written = await readFile(join(driver, "nova.conf.sample"), "utf8");
    const printed = await run("compute-agent", ["driver", "sample", driver]);
    expect([printed.code, printed.stdout]).toEqual([0, written]);

    const copy = join(folder, "grown-driver");
    await cp(driver, copy, { recursive: true, verbatimSymlinks: true });
    const file = join(copy, "dist/index.js");
    const text = await readFile(file, "utf8");
    const added = `options: { slots: { type: "integer", default: 3, min: 1, help: "Room for guests." },`;
    await writeFile(file, text.replace("options: {", added));
    const sample = join(copy, "nova.conf.sample");
    const again = await run("compute-agent", ["driver", "sample", copy, "--out", sample]);
    expect([again.code, again.stdout, again.stderr]).toEqual([0, "", ""]);
    const grown = "# Room for guests. (Integer of at least 1.)\n#slots = 3\n\n";
    expect(await readFile(sample, "utf8")).toBe(written.replace("# CPUs of", `${grown}# CPUs of`));

    await rm(join(copy, "dist"), { recursive: true });
    const rejected = await run("compute-agent", ["driver", "sample", copy, "--out", sample]);
    expect([rejected.code, rejected.stderr]).toEqual([
      2,
      expect.stringContaining("has it been built? (npm run build)"),
    ]);
    expect(await readFile(sample, "utf8")).toContain(grown);
  });

  describe("in a cluster", () => {
    let up: Program;
    let cloud: LocalCloud;

    beforeAll(async () => {
      const state = join(folder, "state");
      const places = ["--hosts", "2", "--port", "0", "--state-dir", state];
      up = new Program("compute-cluster", ["up", "--driver", driver, ...places]);
      const [, url = ""] = await up.printed(/ready +(http:\S+)[\s\S]*Ctrl-C stops all of it/);
      cloud = LocalCloud.over(state, url);
    });

    afterAll(async () => {
      up.signal("SIGINT");
      await up.exited;
      await cloud.dispose();
    });

    test("a smoke test prints the driver calls of each operation", async () => {
      const state = cloud.stateDir;
      const smokeTest = await run("compute-cluster", ["smoke-test", "--json", "--state-dir", state]);
      expect(smokeTest.code, `${smokeTest.stdout}${smokeTest.stderr}`).toBe(0);
      const rows = JSON.parse(smokeTest.stdout) as readonly SmokeTestRow[];
      const of = (operation: string) => rows.find((row) => row.operation === operation);
      expect(of("create")).toMatchObject({ outcome: "ok", calls: "spawn" });
      expect(of("rebuild")).toMatchObject({ outcome: "ok", calls: "destroy, spawn" });
      expect(of("suspend")).toMatchObject({ outcome: "unsupported" });
      expect(of("live migrate")).toMatchObject({ outcome: "unsupported" });
      expect(of("abort live migration")).toMatchObject({ outcome: "unsupported" });
      // The server's host was failed for that, and came back.
      expect(of("evacuate")).toMatchObject({ outcome: "ok" });
      expect(of("delete")).toMatchObject({ outcome: "ok", calls: "destroy" });
      const unknown = await run("compute-cluster", ["smoke-test", "--only", "dance", "--state-dir", state]);
      expect([unknown.code, unknown.stderr]).toEqual([
        2,
        expect.stringContaining("there is no operation dance; there are create"),
      ]);
    });

    test("a smoke test leaves no image if the driver lacks shelve, and can be repeated", async () => {
      const state = cloud.stateDir;
      for (const only of ["shelve", "suspend"]) {
        const smokeTest = await run("compute-cluster", ["smoke-test", "--json", "--only", only, "--state-dir", state]);
        expect(smokeTest.code, `${smokeTest.stdout}${smokeTest.stderr}`).toBe(0);
        const rows = JSON.parse(smokeTest.stdout) as readonly SmokeTestRow[];
        expect(rows).toMatchObject([{ operation: only, outcome: "unsupported" }]);
      }
      const { body } = await cloud.image("GET", "/v2/images");
      const { images } = body as unknown as { readonly images: readonly { readonly status: string }[] };
      expect(new Set(images.map(({ status }) => status))).toEqual(new Set(["active"]));
      const servers = await cloud.compute("GET", "/servers");
      expect(servers.body).toMatchObject({ servers: [] });
    });

    test("2.4 g a host that used this driver rejects the default driver, and nothing is created for the latter", async () => {
      const agent = await cloud.startAgent("bound1", { args: ["--compute-driver", driver] });
      await agent.stop();
      const rejected = await run("compute-agent", ["--host", "bound1", "--state-dir", cloud.stateDir]);
      expect([rejected.code, rejected.stderr]).toEqual([3, expect.stringContaining("(driver-changed)")]);
      expect(rejected.stderr).toContain(`start the agent with --compute-driver ${driver}`);
      await expect(access(join(cloud.stateDir, "hypervisors"))).rejects.toThrow("ENOENT");
    });

    test("up keeps the driver of each host, and prints the complete command that adds another one", async () => {
      const savedHosts = JSON.parse(await readFile(join(cloud.stateDir, "hosts.json"), "utf8"));
      expect(savedHosts).toMatchObject({ devstack1: { driver }, devstack2: { driver } });
      expect(up.stdout).toContain(`compute-agent host add devstack3 --driver ${driver} --state-dir`);
    });
  });

  test("--watch rejects a built-in driver", async () => {
    const rejected = await run("compute-agent", ["--watch", "--host", "x", "--state-dir", folder]);
    expect([rejected.code, rejected.stderr]).toEqual([
      2,
      expect.stringContaining("--watch needs a driver by its path"),
    ]);
  });
});
