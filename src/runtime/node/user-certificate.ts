// Must precede the import of @peculiar/x509: its dependency container requires this polyfill.

import "reflect-metadata";
import { createHash, createHmac, randomBytes, webcrypto } from "node:crypto";
import {
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { MadeKey } from "../cryptography.js";

const OIDS = {
  data: "1.2.840.113549.1.7.1",
  keyBag: "1.2.840.113549.1.12.10.1.1",
  certificateBag: "1.2.840.113549.1.12.10.1.3",
  x509Certificate: "1.2.840.113549.1.9.22.1",
  localKeyId: "1.2.840.113549.1.9.21",
  sha256: "2.16.840.1.101.3.4.2.1",
} as const;

const TAGS = { integer: 0x02, octets: 0x04, null: 0x05, oid: 0x06, sequence: 0x30, set: 0x31, explicit: 0xa0 } as const;

const DIGEST = "sha256";

/** The block size of the digest in bytes. */
const BLOCK_BYTES = 64;

const SALT_BYTES = 16;

const MAC_ITERATIONS = 2048;

/** The diversifier for message authentication keys (RFC 7292, B.3). */
const MAC_KEY = 3;

/** An empty password in PKCS#12: the two zero bytes that terminate a string. */
const EMPTY_PASSWORD_BYTE = 0;

/** Links a key to its certificate. */
const attribute = (id: Uint8Array): Buffer => sequence(oid(OIDS.localKeyId), der("set", der("octets", id)));

const dataOf = (content: Uint8Array): Buffer => sequence(oid(OIDS.data), der("explicit", der("octets", content)));

const sequence = (...members: Uint8Array[]): Buffer => der("sequence", ...members);

const YEAR = 365 * 24 * 3_600_000;

/** Creates a certificate that a Windows guest accepts instead of a password. */
export async function userCertificate(userId: string, now: number, modulusLength: number): Promise<MadeKey> {
  cryptoProvider.set(webcrypto as never);
  const signingAlgorithm = {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  const keys = await webcrypto.subtle.generateKey(signingAlgorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [userId] }],
    notBefore: new Date(now),
    notAfter: new Date(now + 10 * YEAR),
    signingAlgorithm,
    keys,
    extensions: [
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension([{ type: "upn", value: `${userId}@localhost` }]),
    ],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    privateKey: toPkcs12(new Uint8Array(key), new Uint8Array(certificate.rawData)).toString("base64"),
    publicKey: `${certificate.toString("pem")}\n`,
  };
}

/**
 * Packs a private key and its certificate as PKCS#12 (RFC 7292) with an empty password. Nothing is encrypted, since the
 * password is public; programs verify the digest before they import.
 * @param key PKCS#8, as DER
 * @param certificate DER
 */
function toPkcs12(key: Uint8Array, certificate: Uint8Array): Buffer {
  const keyId = der("set", attribute(createHash("sha1").update(certificate).digest()));
  const certificateBag = bag(
    OIDS.certificateBag,
    sequence(oid(OIDS.x509Certificate), der("explicit", der("octets", certificate))),
    keyId,
  );
  const contents = sequence(certificateBag, bag(OIDS.keyBag, key, keyId));
  const safe = sequence(dataOf(contents));
  return sequence(integer(3), dataOf(safe), macOf(safe));
}

function bag(type: string, value: Uint8Array, attributes: Uint8Array): Buffer {
  return sequence(oid(type), der("explicit", value), attributes);
}

function macOf(safe: Uint8Array): Buffer {
  const salt = randomBytes(SALT_BYTES);
  const mac = createHmac(DIGEST, macKey(salt)).update(safe).digest();
  const algorithm = sequence(oid(OIDS.sha256), der("null"));
  return sequence(sequence(algorithm, der("octets", mac)), der("octets", salt), integer(MAC_ITERATIONS));
}

/** Derives a key of the digest's length (RFC 7292, B.2), which takes one block. */
function macKey(salt: Buffer): Buffer {
  const input = [
    Buffer.alloc(BLOCK_BYTES, MAC_KEY),
    Buffer.alloc(BLOCK_BYTES, salt),
    Buffer.alloc(BLOCK_BYTES, EMPTY_PASSWORD_BYTE),
  ];
  let key = Buffer.concat(input);
  for (let round = 0; round < MAC_ITERATIONS; round += 1) {
    key = createHash(DIGEST).update(key).digest();
  }
  return key;
}

/** Encodes a positive number of at most 15 bits. */
function integer(value: number): Buffer {
  return der("integer", value < 0x80 ? Buffer.of(value) : Buffer.of(value >> 8, value & 0xff));
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  return der("oid", Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** Encodes seven bits per byte, highest first; all bytes but the last have the eighth bit set. */
function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) {
    bytes.unshift((rest & 0x7f) | 0x80);
  }
  return bytes;
}

/** Encodes an ASN.1 value by the distinguished encoding rules: tag, length, content. */
function der(tag: keyof typeof TAGS, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) {
    return Buffer.concat([Buffer.of(TAGS[tag], length), content]);
  }
  const size = length > 0xff ? Buffer.of(length >> 8, length & 0xff) : Buffer.of(length);
  return Buffer.concat([Buffer.of(TAGS[tag], 0x80 | size.length), size, content]);
}
