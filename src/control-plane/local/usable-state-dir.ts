import { join } from "node:path";
import { FileFailure, type Files } from "../../runtime/files.js";
import type { StateDir } from "./state-dir.js";

/** Nothing can be kept in the state directory. */
class StateDirUnusable extends Error {
  override readonly name = "StateDirUnusable";

  constructor(root: string, reason: string, options?: ErrorOptions) {
    super(`the state directory ${root} cannot be used: ${reason}; mend that, or name another --state-dir`, options);
  }
}

/** Keeps git from adding passwords, tokens and private keys. A file that is there stays. @throws {FileFailure} */
export async function excludeFromGit(files: Files, root: string): Promise<void> {
  try {
    await files.create(join(root, ".gitignore"), "*\n");
  } catch (error) {
    if (!(error instanceof FileFailure && error.code === "EEXIST")) {
      throw error;
    }
  }
}

/** Makes the state directory, and tries whether it takes a file, before anything is started in it. @throws {StateDirUnusable} */
export async function ensureUsable(files: Files, { root }: Pick<StateDir, "root">): Promise<void> {
  const trial = join(root, ".trial");
  try {
    const found = await files.stat(root);
    if (found !== undefined && found.kind !== "folder") {
      throw new StateDirUnusable(root, "it is not a folder");
    }
    await files.makeFolder(root);
    await files.write(trial, "trial\n");
    await files.remove(trial);
    await excludeFromGit(files, root);
  } catch (error) {
    throw error instanceof FileFailure ? new StateDirUnusable(root, error.message, { cause: error }) : error;
  }
}
