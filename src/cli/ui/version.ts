import { existsSync, readFileSync } from "node:fs";

/** Of this package, from its package.json: the nearest one above, whether this is the source or what was built of it. */
export const version = (): string => {
  let folder = new URL(".", import.meta.url);
  while (!existsSync(new URL("package.json", folder)) && folder.pathname !== "/") folder = new URL("../", folder);
  const text = readFileSync(new URL("package.json", folder), "utf8");
  return String((JSON.parse(text) as { version?: unknown }).version);
};
