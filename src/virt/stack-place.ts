/** File, line and column of the first of these frames that is neither Node's nor of a built program: `/x/index.js:3:5`. */
export function firstPlace(frames: readonly string[]): string | undefined {
  for (const frame of frames) {
    const place = frame.includes("node:") ? null : /[\s(](?:file:\/\/)?(\/[^()]+:\d+:\d+)\)?$/.exec(frame);
    if (place?.[1] !== undefined) {
      return place[1];
    }
  }
  return undefined;
}

/** Where an error was made. */
export function placeOf(error: unknown): string | undefined {
  return error instanceof Error ? firstPlace((error.stack ?? "").split("\n").slice(1)) : undefined;
}
