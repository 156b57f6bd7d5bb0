import type { ServerResponse } from "node:http";

/** Bytes that are written at a time: few enough to be copied for each client, many enough to be worth a system call. */
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
      let bytes = 0;
      for (; next < pieces.length && bytes < WRITTEN; next += 1) {
        bytes += Buffer.byteLength(pieces[next] ?? "");
      }
      taken = response.write(encoded(pieces.slice(from, next), bytes));
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

/** To join thousands of texts first takes three times as long. */
function encoded(strings: readonly string[], bytes: number): Buffer {
  const chunk = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const text of strings) {
    at += chunk.write(text, at);
  }
  return chunk;
}
