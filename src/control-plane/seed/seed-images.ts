import type { Random } from "../../runtime/cryptography.js";
import type { Bytes } from "../../runtime/http.js";
import { type Image, type ImageAttributes, isBaseImage } from "../image/image.js";
import type { ImageStore } from "../image/image-store.js";
import type { ImageTable } from "../image/image-tables.js";
import { fieldChanges, type SeedStep, withoutDefaults } from "./change.js";
import type { ImageText } from "./seed-schema.js";
import type { ProjectNames } from "./seed-users.js";

const DEFAULTS = {
  disk_format: "qcow2",
  container_format: "bare",
  min_disk: 0,
  min_ram: 0,
  visibility: "public",
  owner: "admin",
  protected: false,
  tags: [],
  properties: {},
} as const;

/** The data of an image, read from a file. */
export interface ImageBytes {
  /** SHA-512, hex. */
  readonly hash: string;
  readonly read: () => Promise<Bytes>;
}

export interface ImageParts {
  readonly table: ImageTable;
  /** Opens the store for writing and deleting data. */
  readonly store: () => ImageStore;
  readonly random: Pick<Random, "uuid">;
  readonly projects: ProjectNames;
}

/** Returns the identifier of an image in a file; names need not be unique. */
export function keyOfImage({ id, name }: Pick<ImageText, "id" | "name">): string {
  return id ?? name;
}

/** @param fileOf returns the file with the data of an image */
export function exportImages({ table, projects }: ImageParts, fileOf: (image: Image) => string): ImageText[] {
  return own(table).map((image) => ({
    ...(withoutDefaults(textOf(image, projects), DEFAULTS) as ImageText),
    id: image.id,
    ...(image.status === "active" && (image.size ?? 0) > 0 ? { file: fileOf(image) } : {}),
  }));
}

/**
 * Returns the changes after which exactly the desired images exist, in addition to the one of every cluster.
 * @param bytes data of the images that have a file, by {@link keyOfImage}
 */
export function imageSteps(
  parts: ImageParts,
  desired: readonly ImageText[],
  bytes: ReadonlyMap<string, ImageBytes>,
): readonly SeedStep[] {
  const { table, store, random, projects } = parts;
  const before = own(table);
  const found = new Map(
    desired.map((text) => [
      text,
      before.find(({ id, name }) => (text.id === undefined ? name === text.name : id === text.id)),
    ]),
  );
  const retainedIds = new Set([...found.values()].map((image) => image?.id));
  const removed = before
    .filter(({ id }) => !retainedIds.has(id))
    .map(({ id, name }): SeedStep => {
      return { sign: "-", text: `image ${name ?? id}`, destroys: true, apply: () => store().remove(id) };
    });
  const others = desired.flatMap((text): SeedStep[] => {
    const image = found.get(text);
    const desiredBytes = bytes.get(keyOfImage(text));
    const attributes = attributesOf(text, projects);
    const fill = async (id: string) => store().write(id, (await desiredBytes?.read()) ?? nothing());
    if (image === undefined) {
      const id = text.id ?? random.uuid();
      const apply = () => void table.add(id, attributes);
      return [{ sign: "+", text: `image ${text.name}`, destroys: false, apply, after: () => fill(id) }];
    }
    const isOther = desiredBytes !== undefined && image.status === "active" && image.hash !== desiredBytes.hash;
    const { file: _file, id: _id, ...fields } = text;
    const what = [
      ...(isOther ? ["new data"] : []),
      ...fieldChanges(textOf(image, projects), { ...DEFAULTS, ...fields }),
    ];
    const isEmpty = image.status !== "active" || isOther;
    if (what.length === 0 && !isEmpty) {
      return [];
    }
    const apply = () => {
      if (isOther) {
        table.change(image.id, ["active"], { status: "queued" });
      }
      table.change(image.id, ["queued", "active"], attributes);
    };
    const summary = what.length === 0 ? "data (the upload was interrupted)" : what.join(", ");
    const after = isEmpty ? { after: () => fill(image.id) } : {};
    return [{ sign: "~", text: `image ${text.name}: ${summary}`, destroys: isOther, apply, ...after }];
  });
  return [...removed, ...others];
}

const own = (table: ImageTable): readonly Image[] => table.list().filter((image) => !isBaseImage(image));

async function* nothing(): AsyncGenerator<Uint8Array> {}

function attributesOf(text: ImageText, projects: ProjectNames): ImageAttributes {
  const full = { ...DEFAULTS, ...text };
  return {
    name: text.name,
    visibility: full.visibility,
    protected: full.protected,
    hidden: false,
    diskFormat: full.disk_format,
    containerFormat: full.container_format,
    minDisk: full.min_disk,
    minRam: full.min_ram,
    owner: projects.idOf(full.owner),
    tags: [...full.tags],
    properties: { ...full.properties },
  };
}

function textOf(image: Image, projects: ProjectNames): Readonly<Record<string, unknown>> {
  return {
    name: image.name ?? image.id,
    disk_format: image.diskFormat ?? DEFAULTS.disk_format,
    container_format: image.containerFormat ?? DEFAULTS.container_format,
    min_disk: image.minDisk,
    min_ram: image.minRam,
    visibility: image.visibility,
    owner: image.owner === null ? null : projects.nameOf(image.owner),
    protected: image.protected,
    tags: [...image.tags],
    properties: { ...image.properties },
  };
}
