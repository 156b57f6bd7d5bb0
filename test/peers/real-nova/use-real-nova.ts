import { afterAll, beforeAll, expect, inject } from "vitest";
import { linesWithSecrets } from "./logged-secrets.js";
import { RealNova } from "./real-nova.js";

/** Returns the real Nova that all files share, available from the first hook of a `describe` to its last. */
export function useRealNova(): () => RealNova {
  let nova: RealNova;
  beforeAll(async () => {
    nova = await RealNova.at(inject("realNova"));
  });
  afterAll(async () => {
    const leaks = await linesWithSecrets(nova);
    await nova.stop();
    expect(leaks).toEqual([]);
  });
  return () => nova;
}
