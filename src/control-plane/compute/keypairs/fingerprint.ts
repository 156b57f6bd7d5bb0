import type { Digests } from "../../../runtime/digests.js";

/** The parts after the name of the kind, each with its length before it. */
const PARTS: Readonly<Record<string, number>> = {
  "ssh-rsa": 2,
  "ssh-dss": 4,
  "ssh-ed25519": 1,
  "ecdsa-sha2-nistp256": 2,
  "ecdsa-sha2-nistp384": 2,
  "ecdsa-sha2-nistp521": 2,
};

/** Undefined: not a public key of OpenSSH. */
export function sshFingerprint(publicKey: string, digests: Digests): string | undefined {
  const [kind = "", encoded = ""] = publicKey.split(" ");
  const blob = Buffer.from(encoded, "base64");
  const expectedParts = PARTS[kind];
  const parts = partsOf(blob);
  if (expectedParts === undefined || parts?.[0]?.toString() !== kind || parts.length !== expectedParts + 1) {
    return undefined;
  }
  const digest = digests.running("md5");
  digest.update(blob);
  return digest.hex().match(/../g)?.join(":");
}

/** Undefined: it breaks off. */
function partsOf(blob: Buffer): readonly Buffer[] | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; at < blob.length; ) {
    if (blob.length - at < 4) {
      return undefined;
    }
    const end = at + 4 + blob.readUInt32BE(at);
    if (end > blob.length) {
      return undefined;
    }
    parts.push(blob.subarray(at + 4, end));
    at = end;
  }
  return parts;
}
