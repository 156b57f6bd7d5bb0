import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { clusterHome } from "./support/cluster-home.js";

const { run } = clusterHome("empty");

describe("a command without a result says why, and what to do", () => {
  it("where no cluster was started", async () => {
    const stateDir = await mkdtemp(join(tmpdir(), "no-cluster-"));
    try {
      const commands = [
        ["status"],
        ["host", "list"],
        ["open"],
        ["env"],
        ["snapshot", "list"],
        ["snapshot", "save", "one"],
        ["reset"],
        ["manage", "placement", "audit"],
        ["scenario", "run", "stale-evacuation"],
      ];
      const results = await Promise.all(commands.map((words) => run(...words, "--state-dir", stateDir)));
      expect(results).toEqual(
        commands.map(() => ({
          code: 4,
          stdout: "",
          stderr: expect.stringContaining(
            `${stateDir} has no cluster: "compute-agent up" starts one, "compute-agent list" lists others`,
          ),
        })),
      );
      expect(await readdir(stateDir)).toEqual([]);
      expect(await run("fault", "list", "h1", "--state-dir", stateDir)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('"compute-agent up" starts some'),
      });
    } finally {
      await rm(stateDir, { recursive: true });
    }
    expect((await run("list")).stdout).toBe('No clusters: none was started yet. "compute-agent up" starts one.\n');
    expect((await run("down", "--all")).stdout).toBe("No clusters: none was started yet, so nothing was stopped.\n");
  });

  it("in a new cluster", async () => {
    expect((await run("up", "--name", "new", "--hosts", "1", "--port", "0", "--detach")).code).toBe(0);
    const outputs = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(...words, "--name", "new");
      return `${code} ${stdout}${stderr}`.trim();
    };
    expect(await outputs("logs", "control-plane")).toBe(
      '0 compute-agent logs: no entries: the control plane logs warnings, errors, and with "compute-agent up --log-requests" each request',
    );
    expect(await outputs("logs", "--request-id", "req-1")).toBe(
      '0 compute-agent logs: no entries: none has req-1; the control plane logs requests only with "compute-agent up --log-requests"',
    );
    expect(await outputs("logs", "--since", "0s")).toMatch(/no entries: all are older than 2\S+Z; omit --since/);
    expect(await outputs("logs", "-n", "0")).toBe("0");
    expect(await outputs("fault", "list")).toMatch(
      /^0 No faults are set: "compute-agent fault set HOST POINT=SETTING"/,
    );
    expect(await outputs("fault", "list", "devstack1")).toContain("No faults are set for devstack1: ");
    expect(await outputs("snapshot", "list")).toMatch(
      /^0 No snapshots: none was saved yet\. "compute-agent snapshot save/,
    );
    expect(await outputs("virsh", "list")).toMatch(/No running guests on devstack1: --all also lists/);
    expect(await outputs("virsh", "list", "--all")).toMatch(/No guests on devstack1: servers that Nova builds there/);
    expect(await outputs("audit")).toBe(
      "0 nothing wrong; 0 servers, 1 provider, 0 consumers, 0 ports and 0 volumes checked",
    );
    expect(await outputs("host", "remove", "devstack1")).toBe("0 devstack1 removed");
    expect(await outputs("host", "list")).toMatch(/^0 No hosts: "compute-agent host add NAME --name new" adds one\./);
    expect(await outputs("status")).toMatch(/^0 No hosts: "compute-agent host add NAME --name new" adds one\./);
  });
});
