/** The cluster has what its file contradicts. */
export class SeedRejectedError extends Error {
  override readonly name = "SeedRefused";
}
