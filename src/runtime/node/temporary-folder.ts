import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Runtime } from "../runtime.js";

/** Runs `work` in a new folder that only this user can look into, and removes it afterwards. */
export async function inTemporaryFolder<T>(
  { files, random }: Pick<Runtime, "files" | "random">,
  name: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = join(tmpdir(), `${name}-${random.uuid()}`);
  await files.makeFolder(folder, { mode: 0o700 });
  try {
    return await work(folder);
  } finally {
    await files.remove(folder);
  }
}
