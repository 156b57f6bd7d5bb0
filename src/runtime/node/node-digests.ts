import { createHash, hash, scrypt } from "node:crypto";
import type { Digests } from "../digests.js";

function hex(algorithm: "md5" | "sha224" | "sha256", text: string): string {
  return hash(algorithm, text);
}

export const nodeDigests: Digests = {
  sha224: (text) => hex("sha224", text),
  sha256: (text) => hex("sha256", text),
  scrypt: (password, salt) =>
    new Promise((resolve, reject) => {
      scrypt(password, salt, 32, (error, key) => (error ? reject(error) : resolve(key.toString("hex"))));
    }),
  running: (algorithm) => {
    const running = createHash(algorithm);
    return { update: (bytes) => void running.update(bytes), hex: () => running.digest("hex") };
  },
};

/** MD5 of UTF-8 text, in lower-case hex: where hash rings put things, nothing secret. */
export const md5 = (text: string): string => hex("md5", text);
