import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

/** Returns the content of each regular file below a folder, by relative path. The content of disks is omitted. */
export async function filesBelow(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile()) {
      continue;
    }
    const path = join(entry.parentPath, entry.name);
    found[relative(folder, path)] = /disk/.test(entry.name) ? "a disk" : await readFile(path, "utf8");
  }
  return found;
}
