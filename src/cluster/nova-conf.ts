import { join } from "node:path";
import type { StateDir } from "../control-plane/local/state-dir.js";
import type { Files } from "../runtime/files.js";
import type { StartClusterOptions } from "./cluster.js";

/** The options of a test as a file, for agents and control plane. @returns its path */
export async function writeNovaConf(
  config: NonNullable<StartClusterOptions["config"]>,
  { root }: StateDir,
  files: Files,
): Promise<string> {
  const path = join(root, "nova.conf");
  const sections = Object.entries(config).map(([section, options]) => {
    const lines = Object.entries(options).map(([name, value]) => `${name} = ${value}`);
    return [`[${section}]`, ...lines, ""].join("\n");
  });
  await files.write(path, sections.join("\n"), { mode: 0o600 });
  return path;
}
