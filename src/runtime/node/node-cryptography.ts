import {
  createHash,
  generateKeyPair,
  hash,
  type KeyObject,
  randomBytes,
  randomInt,
  randomUUID,
  scrypt,
  X509Certificate,
} from "node:crypto";
import { promisify } from "node:util";
import type { Digests, KeyMaker, Random } from "../cryptography.js";

export function nodeRandom(): Random {
  return {
    next: () => Math.random(),
    integer: (low, high) => randomInt(low, high + 1),
    uuid: () => randomUUID(),
    hex: (bytes) => randomBytes(bytes).toString("hex"),
  };
}

function hexDigest(algorithm: "md5" | "sha224" | "sha256", text: string): string {
  return hash(algorithm, text);
}

export const nodeDigests: Digests = {
  sha224: (text) => hexDigest("sha224", text),
  sha256: (text) => hexDigest("sha256", text),
  scrypt: (password, salt) =>
    new Promise((resolve, reject) => {
      scrypt(password, salt, 32, (error, key) => (error ? reject(error) : resolve(key.toString("hex"))));
    }),
  running: (algorithm) => {
    const running = createHash(algorithm);
    return { update: (bytes) => void running.update(bytes), hex: () => running.digest("hex") };
  },
};

/** Returns the MD5 of a UTF-8 string in lower-case hex. For positions on hash rings, not for secrets. */
export const md5 = (text: string): string => hexDigest("md5", text);

const BITS = 2048;

/** Generates keys with Node's crypto. The certificate library is loaded on first use, since few clusters need it. */
export const nodeKeys: KeyMaker = {
  ssh: async (comment) => {
    const { publicKey, privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: BITS });
    return {
      privateKey: privateKey.export({ type: "pkcs1", format: "pem" }).toString(),
      publicKey: `ssh-rsa ${sshBlob(publicKey).toString("base64")} ${comment}`,
    };
  },
  x509: async (userId, now) => {
    const { userCertificate } = await import("./user-certificate.js");
    return userCertificate(userId, now, BITS);
  },
  certificateFingerprint: (certificate) => {
    try {
      return new X509Certificate(certificate).fingerprint.toLowerCase();
    } catch {
      return undefined;
    }
  },
};

/** Encodes the public key as in RFC 4253 6.6: three strings, each preceded by its length. */
function sshBlob(key: KeyObject): Buffer {
  const { e = "", n = "" } = key.export({ format: "jwk" });
  const parts = [Buffer.from("ssh-rsa"), positive(e), positive(n)];
  return Buffer.concat(parts.flatMap((part) => [lengthOf(part), part]));
}

/** Prepends a zero byte if the first bit is 1, since it would be read as a sign. */
function positive(base64url: string): Buffer {
  const bytes = Buffer.from(base64url, "base64url");
  return (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return length;
}
