import type { Files } from "../../../runtime/files.js";
import { FileText, MAX_FILE_BYTES, type Problem } from "./file-text.js";

/** The file is none, or not one that can be used: the message has one line for each thing that is wrong, with its place. */
export class FileInvalid extends Error {
  override readonly name = "FileInvalid";
}

/** Problems that are shown. */
const MAX_PROBLEMS = 20;

/**
 * Reads a YAML file. @param path as messages call it @param help what to do where there is no such file
 * @throws {FileInvalid}
 */
export async function readFileText(path: string, absolute: string, files: Files, help: string): Promise<FileText> {
  const stat = await files.stat(absolute);
  if (stat?.kind !== "file") {
    throw new FileInvalid(`${path}: ${stat === undefined ? "there is no such file" : "this is no file"}; ${help}`);
  }
  if (stat.bytes > MAX_FILE_BYTES) {
    throw new FileInvalid(`${path}: found ${stat.bytes} bytes, expected at most ${MAX_FILE_BYTES}`);
  }
  const text = new FileText(await files.read(absolute));
  assertNoProblems(path, text.problems);
  return text;
}

/** @throws {FileInvalid} there are problems. */
export function assertNoProblems(path: string, problems: readonly Problem[]): void {
  if (problems.length === 0) {
    return;
  }
  const sorted = problems.toSorted((one, other) => one.line - other.line || one.column - other.column);
  const lines = sorted.slice(0, MAX_PROBLEMS).map(({ line, column, text }) => `${path}:${line}:${column}: ${text}`);
  const more = sorted.length > MAX_PROBLEMS ? [`${path}: and ${sorted.length - MAX_PROBLEMS} more`] : [];
  throw new FileInvalid([...lines, ...more].join("\n"));
}
