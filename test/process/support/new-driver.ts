import { execFile } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { PACKAGE_ROOT, Program } from "./program.js";

const execute = promisify(execFile);
const COMPILER = join(PACKAGE_ROOT, "node_modules/.bin/tsc");

/** A command that ends by itself, with what it printed. */
export async function run(name: "compute-agent" | "compute-cluster", args: readonly string[]) {
  const program = new Program(name, args);
  const { code } = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

export async function compile(folder: string, args: readonly string[]): Promise<void> {
  await execute(COMPILER, args, { cwd: folder });
}

/** Puts below a driver's folder what `npm install` would put there. */
export async function linkPackage(driver: string): Promise<void> {
  await mkdir(join(driver, "node_modules"));
  await symlink(PACKAGE_ROOT, join(driver, "node_modules/compute-agent"));
  await symlink(join(PACKAGE_ROOT, "node_modules/@types"), join(driver, "node_modules/@types"));
}

/** The compiled driver that `compute-agent driver new` writes into this folder. Returns its own folder. */
export async function newDriver(folder: string): Promise<string> {
  const made = await run("compute-agent", ["driver", "new", "my-driver", "--in", folder]);
  expect(made.code, made.stderr).toBe(0);
  const driver = join(folder, "my-driver");
  await linkPackage(driver);
  await compile(driver, ["-p", driver]);
  return driver;
}
