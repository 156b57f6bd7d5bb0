import type { Files } from "../../runtime/files.js";
import type { Random } from "../../runtime/random.js";
import type { StateDir } from "./state-dir.js";

/** What agents show to the conductor; made at the first start, in a file of mode 0600. */
export async function ensureJoinToken(files: Files, random: Random, directory: StateDir): Promise<string> {
  const known = (await files.readIfPresent(directory.joinTokenFile))?.trim();
  if (known !== undefined && known !== "") {
    return known;
  }
  const token = random.hex(32);
  await files.write(directory.joinTokenFile, `${token}\n`, { mode: 0o600 });
  return token;
}
