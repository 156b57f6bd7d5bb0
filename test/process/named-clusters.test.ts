import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { clusterHome } from "./support/cluster-home.js";

interface Listed {
  readonly name: string | null;
  readonly state: string;
  readonly url: string;
  readonly pid: number | null;
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string>>;
}

describe("clusters that outlive the command that starts them", () => {
  const { run } = clusterHome("named");
  const list = async () => JSON.parse((await run("list", "--json")).stdout) as readonly Listed[];

  it("are started, waited for, listed, stopped and deleted by their name", async () => {
    const up = await run("up", "--name", "ci-7", "--hosts", "1", "--port", "0", "--log-requests", "--detach", "--json");
    expect(up).toMatchObject({ code: 0, stderr: "" });
    const [running] = await list();
    expect(running).toMatchObject({ name: "ci-7", state: "running", pid: expect.any(Number) });
    expect(JSON.parse(up.stdout)).toEqual({ ...running, missing: [] });
    const savedCluster = JSON.parse(await readFile(join(running?.stateDir ?? "", "cluster.json"), "utf8")) as Listed;
    expect({ url: savedCluster.url, pid: savedCluster.pid, env: savedCluster.env }).toEqual({
      url: running?.url,
      pid: running?.pid,
      env: { OS_CLIENT_CONFIG_FILE: join(running?.stateDir ?? "", "clouds.yaml"), OS_CLOUD: "devstack" },
    });

    const [waited, inVain, rejected, again] = await Promise.all([
      run("wait", "--name", "ci-7", "--for", "hosts=1", "--for", "settled"),
      run("wait", "--name", "ci-7", "--for", "server=nobody:ACTIVE", "--timeout", "0"),
      run("delete", "ci-7"),
      run("up", "--name", "ci-7", "--hosts", "1", "--detach"),
    ]);
    expect(waited).toMatchObject({ code: 0, stderr: "" });
    expect(inVain).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no server nobody") });
    expect(rejected).toMatchObject({ code: 3, stderr: expect.stringContaining("down --name ci-7") });
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("a cluster already runs") });

    const logged = await run("logs", "--name", "ci-7", "--json", "--since", "10m", "control-plane");
    const lines = logged.stdout.trimEnd().split("\n");
    const requests = lines.map((line) => JSON.parse(line) as Readonly<Record<string, string>>);
    const loggedRequest = requests.find(({ service, user }) => service === "compute-api" && user === "admin");
    expect(loggedRequest).toMatchObject({ source: "control-plane", message: "request", status: 200, method: "GET" });
    const ofIt = await run("logs", "--name", "ci-7", "--request-id", loggedRequest?.request_id ?? "");
    expect(ofIt.stdout).toMatch(/^control-plane \| .*\n$/);

    expect(await run("down", "--name", "ci-7")).toMatchObject({ code: 0, stdout: expect.stringContaining("stopped") });
    expect(await list()).toEqual([{ ...running, state: "stopped", pid: null }]);
    expect(await run("wait", "--name", "ci-7", "--timeout", "0")).toMatchObject({ code: 4 });
    expect((await run("logs", "--name", "ci-7", "devstack1", "-n", "1")).stdout).not.toBe("");
    expect(await run("delete", "ci-7")).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/destroys:\n {2}- host devstack1\n.*confirm it with --yes; nothing was changed/),
    });
    expect(await run("delete", "ci-7", "--yes")).toMatchObject({ code: 0 });
    expect(await list()).toEqual([]);
  });

  it("cannot be named by a path", async () => {
    expect(await run("status", "--name", "../x")).toMatchObject({ code: 2 });
    expect(await run("down", "--all", "--name", "x")).toMatchObject({ code: 2 });
  });
});
