import { generateKeyPair, type KeyObject, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import type { KeyMaker } from "../key-maker.js";

const BITS = 2048;

/** Node's own keys. The library of certificates is loaded with the first one, since few want any. */
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

/** RFC 4253 6.6: three strings, each after its length. */
function sshBlob(key: KeyObject): Buffer {
  const { e = "", n = "" } = key.export({ format: "jwk" });
  const parts = [Buffer.from("ssh-rsa"), positive(e), positive(n)];
  return Buffer.concat(parts.flatMap((part) => [lengthOf(part), part]));
}

/** A first bit of 1 would be a sign. */
function positive(base64url: string): Buffer {
  const bytes = Buffer.from(base64url, "base64url");
  return (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return length;
}
