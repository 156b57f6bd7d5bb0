import { createHash } from "node:crypto";
import type { Digests } from "../digests.js";

const hex = (algorithm: "sha224" | "sha256", text: string): string => createHash(algorithm).update(text).digest("hex");

export const nodeDigests: Digests = {
  sha224: (text) => hex("sha224", text),
  sha256: (text) => hex("sha256", text),
};
