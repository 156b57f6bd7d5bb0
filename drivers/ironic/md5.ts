/** MD5 (RFC 1321) of UTF-8 text, in lower-case hex: where hash rings put things, nothing secret. */
export const md5 = (text: string): string => {
  const words = padded(new TextEncoder().encode(text));
  let state: State = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
  for (let at = 0; at < words.length; at += 16) state = mixed(state, words.subarray(at, at + 16));
  return state.map(hex).join("");
};

type State = [number, number, number, number];

const SHIFTS = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const;

const SINES = Uint32Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32));

/** Little-endian words, the message's length in bits at the end. */
const padded = (bytes: Uint8Array): Uint32Array => {
  const size = (Math.floor((bytes.length + 8) / 64) + 1) * 64;
  const view = new DataView(new ArrayBuffer(size));
  new Uint8Array(view.buffer).set(bytes);
  view.setUint8(bytes.length, 0x80);
  view.setUint32(size - 8, (bytes.length * 8) >>> 0, true);
  view.setUint32(size - 4, Math.floor((bytes.length * 8) / 2 ** 32), true);
  return Uint32Array.from({ length: size / 4 }, (_, at) => view.getUint32(at * 4, true));
};

const mixed = (before: State, block: Uint32Array): State => {
  let [a, b, c, d] = before;
  for (let step = 0; step < 64; step += 1) {
    const round = step >> 4;
    const [f, word] = chosen(round, step, b, c, d);
    const shift = SHIFTS[round as 0 | 1 | 2 | 3][(step & 3) as 0 | 1 | 2 | 3];
    const sum = (a + f + (SINES[step] ?? 0) + (block[word] ?? 0)) | 0;
    [a, d, c, b] = [d, c, b, (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0];
  }
  return [before[0] + a, before[1] + b, before[2] + c, before[3] + d].map((word) => word | 0) as State;
};

const chosen = (round: number, step: number, b: number, c: number, d: number): readonly [f: number, word: number] => {
  if (round === 0) return [(b & c) | (~b & d), step];
  if (round === 1) return [(d & b) | (~d & c), (5 * step + 1) & 15];
  if (round === 2) return [b ^ c ^ d, (3 * step + 5) & 15];
  return [c ^ (b | ~d), (7 * step) & 15];
};

const hex = (word: number): string =>
  [0, 8, 16, 24].map((shift) => ((word >>> shift) & 0xff).toString(16).padStart(2, "0")).join("");
