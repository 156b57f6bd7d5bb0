import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this package: the nearest one above that has a README, whether this is the source or what was built of it. */
export function packageFolder(): string {
  let folder = new URL(".", import.meta.url);
  while (!existsSync(new URL("README.md", folder)) && folder.pathname !== "/") {
    folder = new URL("../", folder);
  }
  return fileURLToPath(folder);
}

/** The version of this package. */
export function version(): string {
  const text = readFileSync(join(packageFolder(), "package.json"), "utf8");
  return String((JSON.parse(text) as { version?: unknown }).version);
}
