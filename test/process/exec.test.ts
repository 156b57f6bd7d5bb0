import { access } from "node:fs/promises";
import { expect, it, vi } from "vitest";
import { clusterHome } from "./support/cluster-home.js";
import { Program } from "./support/program.js";

const { run, begin } = clusterHome("exec");

/** Runs `compute-agent exec`. @returns its output and exit code */
async function exec(...args: readonly string[]) {
  const program = new Program("compute-agent", ["exec", ...args]);
  const { code } = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

it("exec runs a command against a cluster, ends with its exit code, and removes the cluster", async () => {
  const [tried, missing, usage] = await Promise.all([
    exec(
      "--hosts",
      "1",
      "--",
      "sh",
      "-c",
      'grep -c "auth_url" "$OS_CLIENT_CONFIG_FILE"; echo "$OS_CLIENT_CONFIG_FILE"; exit 7',
    ),
    exec("--hosts", "0", "--", "compute-agent-has-no-such-program"),
    exec("--hosts", "1"),
  ]);
  const [clouds, file = ""] = tried.stdout.trimEnd().split("\n");
  expect({ code: tried.code, clouds }).toEqual({ code: 7, clouds: "3" });
  await expect(access(file)).rejects.toThrow("ENOENT");
  expect(missing).toMatchObject({ code: 127, stderr: expect.stringContaining("not found") });
  expect(usage).toMatchObject({ code: 2, stderr: expect.stringContaining("expected a command after --") });
});

it("exec neither uses nor stops a cluster that runs already", async () => {
  expect((await run("up", "--name", "mine", "--hosts", "0", "--port", "0", "--detach")).code).toBe(0);
  const rejected = await run("exec", "--name", "mine", "--", "true");
  expect(rejected).toMatchObject({ code: 2, stderr: expect.stringContaining("a cluster already runs") });
  const [mine] = JSON.parse((await run("list", "--json")).stdout) as { readonly state: string }[];
  expect(mine?.state).toBe("running");
});

it("exec forwards a signal to the command, and then stops the cluster", async () => {
  const program = begin("exec", "--name", "stopped", "--hosts", "0", "--", "sh", "-c", "echo begun; exec sleep 60");
  await program.printed(/begun/);
  program.signal("SIGTERM");
  expect((await program.exited).code).toBe(128 + 15);
  const listed = JSON.parse((await run("list", "--json")).stdout) as {
    readonly name: string;
    readonly state: string;
  }[];
  expect(listed.find(({ name }) => name === "stopped")?.state).toBe("stopped");
});

it("exec that is killed leaves no cluster running", async () => {
  const program = begin("exec", "--name", "orphan", "--hosts", "1", "--", "sh", "-c", "echo begun; exec sleep 5");
  await program.printed(/begun/);
  const state = async () =>
    (JSON.parse((await run("list", "--json")).stdout) as readonly { readonly name: string; readonly state: string }[])
      .filter(({ name }) => name === "orphan")
      .map((each) => each.state);
  expect(await state()).toEqual(["running"]);
  program.signal("SIGKILL");
  await program.exited;
  await vi.waitFor(async () => expect(await state()).toEqual(["stopped"]), { timeout: 30_000, interval: 500 });
});
