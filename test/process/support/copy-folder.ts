import { copyFile, mkdir, readdir, stat, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Copies a folder. Guests' disks are sparse files and stay sparse; otherwise each would take a gigabyte. */
export async function copyFolder(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const copy = join(to, path.slice(from.length));
    if (entry.isDirectory()) {
      await mkdir(copy, { recursive: true });
    }
    if (!entry.isFile()) {
      continue;
    }
    await mkdir(dirname(copy), { recursive: true });
    const { blocks, size, mode } = await stat(path);
    if (blocks > 0 || size === 0) {
      await copyFile(path, copy);
    } else {
      await writeFile(copy, "", { mode });
      await truncate(copy, size);
    }
  }
}
