import { afterAll, beforeAll, expect, inject } from "vitest";
import { RealNova } from "./real-nova.js";
import { linesWithSecrets } from "./told-secrets.js";

/** The real Nova that all files share, from the first hook of a `describe` to its last. */
export function useRealNova(): () => RealNova {
  let nova: RealNova;
  beforeAll(async () => {
    nova = await RealNova.at(inject("realNova"));
  });
  afterAll(async () => {
    const told = await linesWithSecrets(nova);
    await nova.stop();
    expect(told).toEqual([]);
  });
  return () => nova;
}
