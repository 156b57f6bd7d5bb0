import type { ServerResponse } from "node:http";

/** Characters that are written at a time: few enough to be copied for each client, many enough to be worth a system call. */
const WRITTEN = 131_072;

/**
 * Sends texts one after the other, as fast as the client takes them; one that takes nothing for so many milliseconds is broken off.
 * When a client goes away, the texts that it has not taken are dropped.
 */
export function sendPieces(pieces: readonly string[], response: ServerResponse, milliseconds: number): void {
  let next = 0;
  const write = () => {
    let taken = true;
    while (taken && next < pieces.length) {
      const from = next;
      for (let characters = 0; next < pieces.length && characters < WRITTEN; next += 1) {
        characters += pieces[next]?.length ?? 0;
      }
      taken = response.write(Buffer.from(pieces.slice(from, next).join("")));
    }
    if (next === pieces.length) {
      response.off("drain", write);
      response.end();
    }
  };
  response.setTimeout(milliseconds, () => response.destroy());
  response.on("drain", write);
  write();
}
