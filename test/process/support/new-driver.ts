import { execFile } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { PACKAGE_ROOT, Program } from "./program.js";

const execute = promisify(execFile);
const COMPILER = join(PACKAGE_ROOT, "node_modules/.bin/tsc");

/** Runs a command to its end, and returns its output. */
export async function run(name: "compute-agent" | "compute-cluster", args: readonly string[]) {
  const program = new Program(name, args);
  const { code } = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

export async function compile(folder: string, args: readonly string[]): Promise<void> {
  await execute(COMPILER, args, { cwd: folder });
}

/** Links below a driver's folder the packages that `npm install` would install. */
export async function linkPackage(driver: string): Promise<void> {
  await mkdir(join(driver, "node_modules"));
  await symlink(PACKAGE_ROOT, join(driver, "node_modules/compute-agent"));
  await symlink(join(PACKAGE_ROOT, "node_modules/@types"), join(driver, "node_modules/@types"));
}

/** Creates a driver with `compute-agent driver new` in this folder, and compiles it. Returns the driver's folder. */
export async function newDriver(folder: string): Promise<string> {
  const made = await run("compute-agent", ["driver", "new", "my-driver", "--in", folder]);
  expect(made.code, made.stderr).toBe(0);
  const driver = join(folder, "my-driver");
  await linkPackage(driver);
  await compile(driver, ["-p", driver]);
  return driver;
}
