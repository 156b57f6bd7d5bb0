/** The cluster has what its file contradicts. */
export class SeedRefused extends Error {
  override readonly name = "SeedRefused";
}
