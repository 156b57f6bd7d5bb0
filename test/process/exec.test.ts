import { access } from "node:fs/promises";
import { expect, it } from "vitest";
import { Program } from "./support/program.js";

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
