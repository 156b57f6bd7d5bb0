import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Random } from "../random.js";
import type { Runtime } from "../runtime.js";

/** The path of a folder for what need not outlive its user; nobody has made it yet. */
export function temporaryPath(name: string, { uuid }: Pick<Random, "uuid">): string {
  return join(tmpdir(), `${name}-${uuid()}`);
}

/** Runs `work` in a new folder that only this user can look into, and removes it afterwards. */
export async function inTemporaryFolder<T>(
  { files, random }: Pick<Runtime, "files" | "random">,
  name: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = temporaryPath(name, random);
  await files.makeFolder(folder, { mode: 0o700 });
  try {
    return await work(folder);
  } finally {
    await files.remove(folder);
  }
}
