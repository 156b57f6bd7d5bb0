/** The only subnet: addresses are numbers here, and texts outside. It has room for a million ports. */
export const FLAT_SUBNET = {
  cidr: "10.0.0.0/12",
  first: "10.0.0.2",
  last: "10.15.255.254",
  gateway: "10.0.0.1",
} as const;

/** What servers are given of it. */
export const POOL = { first: numberOf(FLAT_SUBNET.first), last: numberOf(FLAT_SUBNET.last) } as const;

export function isInPool(address: number): boolean {
  return address >= POOL.first && address <= POOL.last;
}

/** Undefined: the text is no IPv4 address. */
export function addressOf(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  return parts?.every((part) => part < 256) ? parts.reduce((sum, part) => sum * 256 + part, 0) : undefined;
}

export function addressText(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}

/** No two addresses of a subnet have the same: the factor is odd, so that it only shuffles the 24 bits. */
export function macOf(address: number): string {
  const shuffled = Math.imul(address, 0x9e3779) & 0xff_ff_ff;
  return `fa:16:3e:${[16, 8, 0].map((shift) => ((shuffled >>> shift) & 255).toString(16).padStart(2, "0")).join(":")}`;
}

function numberOf(text: string): number {
  return addressOf(text) ?? 0;
}
