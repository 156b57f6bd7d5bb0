import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { takeDashboardPictures } from "./dashboard-pictures.js";
import { recordTerminal } from "./record-terminal.js";

/** The file name of the terminal's recording. */
export const TERMINAL = "terminal.svg";

/** Makes all pictures of the docs in a folder. Returns their names. */
export async function makePictures(folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const names: string[] = [];
  const save = async (name: string, content: Buffer | string): Promise<void> => {
    await writeFile(join(folder, name), content);
    names.push(name);
  };
  await save(TERMINAL, await recordTerminal());
  await takeDashboardPictures(save);
  return names;
}
