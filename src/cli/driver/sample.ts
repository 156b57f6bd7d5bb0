import { dirname, join, resolve } from "node:path";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { optionsOf } from "../agent/built-in-drivers.js";
import { DriverGuard, loadContained } from "../agent/driver-guard.js";
import { ExitCode } from "../ui/exit-code.js";
import { createTerminal } from "../ui/terminal.js";
import { sampleOf } from "./scaffold/scaffold.js";

/**
 * Writes a driver's sample of nova.conf from the schema that it declares.
 * @param out the file to write; undefined: it is printed
 * @throws {InvalidDriver} {@link VirtDriverTimeout} {@link FileFailure}
 */
export async function writeSample(driver: string, out?: string): Promise<number> {
  const files = new NodeFiles();
  const definition = await loadContained(driver, process.cwd(), new DriverGuard("compute-agent"));
  const text = sampleOf(await installedAs(driver, files), optionsOf(definition));
  if (out === undefined) {
    createTerminal().print(text.trimEnd());
  } else {
    await files.write(resolve(out), text);
  }
  return ExitCode.ok;
}

/** Returns the value of `compute_driver` for an installed driver: for a path, the name of its package. */
async function installedAs(driver: string, files: NodeFiles): Promise<string> {
  if (!/^(\.{0,2}\/|\.{1,2}$)/.test(driver)) {
    return driver;
  }
  const path = resolve(driver);
  for (const folder of folders(path)) {
    const text = await files.readIfPresent(join(folder, "package.json"));
    const name = text === undefined ? undefined : (JSON.parse(text) as { name?: unknown }).name;
    if (typeof name === "string") {
      return name;
    }
  }
  return path;
}

/** Returns a path and all its parents. */
function folders(path: string): readonly string[] {
  return path === dirname(path) ? [path] : [path, ...folders(dirname(path))];
}
