import { ManageFailure, UNEXPECTED } from "./manage-parts.js";

/** Carries out a command and answers the exit code that nova-manage would end with, its text printed; never throws. */
export async function runCommand(print: (line: string) => void, command: () => Promise<number>): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (error instanceof ManageFailure) {
      print(error.message);
      return error.code;
    }
    print(`An error has occurred:\n${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`);
    return UNEXPECTED;
  }
}
