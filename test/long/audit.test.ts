import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Program } from "../process/support/program.js";

const ORPHAN = "0f0f0f0f-0000-4000-8000-000000000001";
/** Exit code 3 for findings, 4 for edits, as `nova-manage placement audit`. */
const NOVA_MANAGE = "--nova-manage-exit-codes";
const PROJECT = "11111111111111111111111111111111";

describe("compute-agent audit and apply", () => {
  let cloud: LocalCloud;
  let node: string;

  const run = async (args: readonly string[], environment: NodeJS.ProcessEnv = {}) => {
    const local = args.includes("--os-cloud") ? [] : ["--state-dir", cloud.stateDir];
    const program = new Program("compute-cluster", [...args, ...local], environment);
    const { code } = await program.exited;
    return { code, stdout: program.stdout, stderr: program.stderr };
  };

  const held = async (): Promise<unknown> => (await cloud.placement("GET", `/allocations/${ORPHAN}`)).body;

  beforeAll(async () => {
    cloud = await LocalCloud.start();
    await cloud.startAgent("devstack1");
    const { body } = await cloud.eventually(
      () => cloud.placement("GET", "/resource_providers?resources=VCPU:1"),
      (response) => Object.values(response.body.resource_providers ?? {}).length > 0,
    );
    node = String(body.resource_providers?.[0]?.uuid);
  });

  afterAll(() => cloud.dispose());

  it("exits with 0 if nothing is wrong", async () => {
    expect(await run(["audit"])).toEqual({
      code: 0,
      stdout: "nothing wrong; 0 servers, 1 provider, 0 consumers, 0 ports and 0 volumes checked\n",
      stderr: "",
    });
  });

  it("finds issues, writes a plan readable only by its owner, applies it once, and undoes it, always with exit code 0", async () => {
    const allocations = { [node]: { resources: { VCPU: 1, MEMORY_MB: 64 } } };
    const owner = { project_id: PROJECT, user_id: PROJECT, consumer_generation: null, consumer_type: "INSTANCE" };
    await cloud.placement("PUT", `/allocations/${ORPHAN}`, { allocations, ...owner });
    const before = await held();
    const plan = join(cloud.stateDir, "plan.json");

    const found = await run(["audit", "--plan", plan, "--json"]);
    expect([found.code, found.stderr]).toEqual([0, ""]);
    expect(JSON.parse(found.stdout)).toMatchObject({
      findings: [{ code: "orphaned-consumer", subject: { uuid: ORPHAN }, provider: { name: "devstack1" }, left: null }],
      edits: 1,
    });
    expect((await stat(plan)).mode & 0o777).toBe(0o600);
    expect(await held()).toEqual(before);
    expect((await run(["audit", NOVA_MANAGE])).code).toBe(3);
    expect((await run(["audit"])).stdout).toMatch(/orphaned-consumer.*1 finding; .*\n1 edit can repair this/s);

    const strange = {
      code: 2,
      stderr: expect.stringMatching(/changes no consumer, provider, port, volume or attachment nobody;/),
    };
    expect(await run(["apply", plan, "--only", ORPHAN, "--only", "nobody"])).toMatchObject(strange);
    expect(await held()).toEqual(before);
    expect(await run(["apply", plan, "--only", ORPHAN])).toMatchObject({ code: 0, stderr: "" });
    expect(await held()).toEqual({ allocations: {} });
    expect((await run(["apply", plan, NOVA_MANAGE])).code).toBe(0);
    expect((await run(["apply", plan, "--undo", NOVA_MANAGE])).code).toBe(4);
    expect(withoutGenerations(await held())).toEqual(withoutGenerations(before));
    // A new consumer with the same uuid; its generation shows that the plan was made for another one.
    const { allocations: now } = before as { allocations: object };
    await cloud.placement("PUT", `/allocations/${ORPHAN}`, { allocations: now, ...owner, consumer_generation: 1 });
    const rejected = await run(["apply", plan, "--json"]);
    expect(rejected.code).toBe(1);
    expect(JSON.parse(rejected.stdout)).toMatchObject([
      { state: "refused", why: expect.stringMatching(/has changed since/) },
    ]);
  });

  it("reports invalid credentials, addresses and files in one line, without secrets", async () => {
    const clouds = await readFile(join(cloud.stateDir, "clouds.yaml"), "utf8");
    const password = /password: "([^"]+)"/.exec(clouds)?.[1] ?? "";
    const file = join(cloud.stateDir, "other.yaml");
    const failure = async (text: string, name = "devstack") => {
      await writeFile(file, text);
      const { code, stderr } = await run(["audit", "--os-cloud", name], { OS_CLIENT_CONFIG_FILE: file });
      expect(stderr.trim().split("\n")).toHaveLength(1);
      expect(stderr).not.toContain(password);
      return `${code} ${stderr}`;
    };
    expect(await failure(clouds.replaceAll(password, "wrong"))).toMatch(
      /^1 .*rejected the user or the password \(401\)/,
    );
    expect(await failure(clouds, "devstack-demo")).toMatch(/^1 .*responded 403.*needs admin/);
    expect(await failure(clouds.replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:1"))).toMatch(/^4 .*no response from/);
    expect(await failure(clouds.replace("  devstack:", "  devstack: ]"))).toMatch(/^2 .*other\.yaml:\d+: not YAML/);
    expect(await failure(clouds, "nowhere")).toMatch(/^2 .*expected a cloud nowhere, found devstack/);
    expect((await run(["audit", "--max-share", "2"])).code).toBe(2);
    expect(await run(["apply", file])).toMatchObject({ code: 2, stderr: expect.stringMatching(/not JSON/) });
  });
});

function withoutGenerations(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body, (key, value) => (key.endsWith("generation") ? undefined : value)));
}
