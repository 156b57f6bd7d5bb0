/** Makes something for the first who asks, and gives it to all; what could not be made is made again for the next one who asks. */
export function madeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return async () => {
    const own = made ?? make();
    made = own;
    try {
      return await own;
    } catch (error) {
      // Another may have begun anew meanwhile.
      made = made === own ? undefined : made;
      throw error;
    }
  };
}
