/** The only network: flat, shared, there from the start, and not to be changed. */
export const FLAT_NETWORK = {
  id: "c0ffee00-0000-4000-8000-000000000010",
  name: "private",
  subnetId: "c0ffee00-0000-4000-8000-000000000011",
  subnetName: "private-subnet",
  mtu: 1500,
} as const;

/** Nova's clients call it so, too. */
export const NETWORK_ZONE = "nova";
