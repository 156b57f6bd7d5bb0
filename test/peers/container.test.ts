import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PACKAGE_ROOT } from "../process/support/program.js";

const execute = promisify(execFile);
let folder: string;

beforeAll(async () => {
  if (!existsSync("/usr/bin/buildah")) {
    throw new Error("buildah is needed; on Debian: apt-get install buildah");
  }
  folder = await mkdtemp(join(tmpdir(), "compute-agent-container-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Stores images beside the test, with a storage driver that works everywhere. */
async function buildah(...args: string[]): Promise<string> {
  const places = ["--storage-driver", "vfs", "--root", join(folder, "images"), "--runroot", join(folder, "run")];
  return (await execute("/usr/bin/buildah", [...places, ...args])).stdout.trim();
}

test("an image with only Node and the package is built, and runs a cluster", async () => {
  await execute(join(PACKAGE_ROOT, "config/container/make-root.sh"), [folder]);
  await buildah(
    "build",
    "-q",
    "-f",
    join(PACKAGE_ROOT, "config/container/Containerfile"),
    "-t",
    "compute-agent",
    folder,
  );
  const container = await buildah("from", "compute-agent");
  const program = ["/bin/node", "/app/node_modules/compute-agent/dist/bin/compute-cluster.js"];
  const run = (...args: string[]) => buildah("run", "--isolation", "chroot", container, ...program, ...args);
  const up = await run("up", "--hosts", "1", "--port", "0", "--detach", "--json");
  expect(JSON.parse(up)).toMatchObject({ state: "running", missing: [] });
  expect(await run("status", "--json")).toContain("devstack1");
  expect(await run("down")).toContain("stopped");
});
