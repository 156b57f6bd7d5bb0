import { basename, dirname, join, relative, resolve } from "node:path";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { packageFolder, version } from "../ui/command-line.js";
import { ExitCode } from "../ui/exit-code.js";
import { createTerminal } from "../ui/terminal.js";
import { dependencyOn, scaffoldOf } from "./scaffold/scaffold.js";

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

/** Writes the package of a new driver. Never overwrites existing files. */
export async function newDriver(name: string, where: string): Promise<number> {
  const terminal = createTerminal();
  if (!NAME.test(name) || name.length > 60) {
    terminal.complain(
      `compute-agent: found ${name}, expected a name of lower-case letters, digits and hyphens, such as my-driver`,
    );
    return ExitCode.usage;
  }
  const files = new NodeFiles();
  const folder = resolve(where, name);
  if ((await files.stat(folder)) !== undefined) {
    terminal.complain(`compute-agent: ${folder} exists already; choose another name, or another folder with --in`);
    return ExitCode.usage;
  }
  const own = packageFolder();
  const modules = dirname(own);
  const installed = basename(modules) === "node_modules";
  const lock = installed ? await files.readIfPresent(join(modules, ".package-lock.json")) : undefined;
  const dependency = dependencyOn({ own, folder, version: version(), ...(installed ? { lock: lock ?? "" } : {}) });
  const written = scaffoldOf({ name, version: version(), dependency });
  for (const [path, text] of written) {
    await files.makeFolder(dirname(join(folder, path)));
    await files.write(join(folder, path), text);
  }
  const displayPath = relative(process.cwd(), folder) || ".";
  const here = displayPath.startsWith(".") ? displayPath : `./${displayPath}`;
  terminal.print(
    [
      `${displayPath} has a working driver, its tests, and a sample configuration. Next:`,
      "",
      `  cd ${displayPath}`,
      "  npm install",
      "  npm test                     # builds the driver and checks it against the contract",
      "  cd -",
      `  npx compute-agent up --driver ${here} --hosts 2`,
    ].join("\n"),
  );
  return ExitCode.ok;
}
