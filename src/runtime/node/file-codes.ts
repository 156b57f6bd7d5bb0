/** `ENOENT`, `EEXIST`, … of what the file system refused. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "EUNKNOWN";
}
