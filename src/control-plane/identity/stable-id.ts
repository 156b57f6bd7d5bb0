import type { Digests } from "../../runtime/digests.js";

/** An id that depends on nothing but what it names. */
export const stableId = (digests: Pick<Digests, "sha256">, name: string): string => digests.sha256(name).slice(0, 32);
