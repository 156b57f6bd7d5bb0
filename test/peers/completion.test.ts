import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PACKAGE_ROOT } from "../process/support/program.js";

const SHELLS = {
  bash: { start: "bash --norc --noprofile -i", load: 'eval "$(compute-agent completion bash)"' },
  zsh: {
    start: "zsh -f -i",
    load: 'autoload -U compinit; compinit -u -D; eval "$(compute-agent completion zsh)"',
  },
  fish: { start: "fish --no-config -i", load: "compute-agent completion fish | source" },
};
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "compute-agent-shells-"));
  await mkdir(join(folder, "bin"));
  await mkdir(join(folder, "empty"));
  await symlink(join(PACKAGE_ROOT, "dist/bin/compute-agent.js"), join(folder, "bin/compute-agent"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Returns a function that resolves when the terminal's output since the last call matches. */
function createOutputWaiter(shell: ChildProcess): (pattern: RegExp) => Promise<void> {
  let text = "";
  let wake = () => {};
  shell.stdout?.on("data", (data: Buffer) => {
    text += data.toString();
    wake();
  });
  return async (pattern) => {
    while (!pattern.test(text)) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    text = "";
  };
}

test.each(Object.entries(SHELLS))("%s completes a user's input", async (name, { start, load }) => {
  if (!existsSync(`/usr/bin/${name}`) || !existsSync("/usr/bin/script")) {
    throw new Error(`${name} and script are needed; on Debian: apt-get install ${name} bsdutils`);
  }
  const path = `${join(folder, "bin")}:${join(process.execPath, "..")}:/usr/bin:/bin`;
  const env = { PATH: path, HOME: folder, XDG_STATE_HOME: folder, TERM: "dumb" };
  const shell = spawn("/usr/bin/script", ["-qec", start, "/dev/null"], { cwd: join(folder, "empty"), env });
  try {
    const sees = createOutputWaiter(shell);
    shell.stdin.write(`${load}; echo loa''ded\n`);
    await sees(/loaded/);
    shell.stdin.write("compute-agent scen\t");
    await sees(/ario/);
    shell.stdin.write("sh\t");
    await sees(/ow/);
    shell.stdin.write("over\t");
    await sees(/committed/);
    shell.stdin.write("\n");
    await sees(/a host has more allocations than capacity/);
  } finally {
    shell.kill("SIGKILL");
  }
  expect(shell.killed).toBe(true);
});
