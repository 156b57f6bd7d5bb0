import { ImageServiceNotFound } from "./errors.js";
import type { Image, ImageMeta, ImageService } from "./images.js";
import type { SnapshotOptions } from "./types.js";

/** What one call of a driver may do with the Image service. What is still open when the call has ended is cut. */
export class ScopedImages {
  readonly #service: ImageService | undefined;
  readonly #over = new AbortController();

  /** @param service undefined: there is none */
  constructor(service: ImageService | undefined) {
    this.#service = service;
  }

  with<O extends { readonly image: ImageMeta }>(options: O): Omit<O, "image"> & { readonly image: Image } {
    const { image } = options;
    return { ...options, image: { ...image, open: async () => this.#needed().open(image.id, this.#over.signal) } };
  }

  to<O extends object>(id: string, options: O): O & Pick<SnapshotOptions, "upload"> {
    const upload: SnapshotOptions["upload"] = async (bytes, about = {}) =>
      this.#needed().upload(id, bytes, about, this.#over.signal);
    return { ...options, upload };
  }

  end(): void {
    this.#over.abort(new Error("the driver's call has ended"));
  }

  #needed(): ImageService {
    if (this.#service) {
      return this.#service;
    }
    throw new ImageServiceNotFound("this host has no Image service");
  }
}

export async function lendingImages<T>(
  service: ImageService | undefined,
  work: (images: ScopedImages) => Promise<T>,
): Promise<T> {
  const images = new ScopedImages(service);
  try {
    return await work(images);
  } finally {
    images.end();
  }
}
