import type { Clock } from "../../runtime/clock.js";
import { applySchema } from "../database/schema-steps.js";
import type { Sql, SqlRow } from "../database/sql.js";
import { IMAGE_SCHEMA } from "./image-tables.js";
import {
  BASE_IMAGES,
  type Image,
  type ImageAttributes,
  type ImageContent,
  type ImageNotes,
  type ImageStatus,
  NO_CONTENT,
  NO_NOTES,
  type Rotation,
} from "./images.js";

/** Records of images, {@link BASE_IMAGES} among them. */
export class ImageTable {
  readonly #sql: Sql;
  readonly #clock: Clock;

  constructor(sql: Sql, clock: Clock) {
    applySchema(sql, "image", IMAGE_SCHEMA, clock.now());
    this.#sql = sql;
    this.#clock = clock;
  }

  get(id: string): Image | undefined {
    const row = this.#sql.get("SELECT id, status, content FROM images WHERE id = ?", id.toLowerCase());
    return row && imageOf(row);
  }

  /** In the order in which they were made. */
  list(): readonly Image[] {
    return this.#sql.all("SELECT id, status, content FROM images ORDER BY number").map(imageOf);
  }

  /** Adds the base images that are missing, before all others. A cloud whose users made an image of such a name keeps theirs alone. */
  ensureBaseImages(): void {
    for (const [index, { id, status, ...content }] of BASE_IMAGES.entries()) {
      this.#sql.run(
        `INSERT OR IGNORE INTO images (number, id, status, content) SELECT ?, ?, ?, ?
         WHERE NOT EXISTS (SELECT 1 FROM images WHERE content ->> '$.name' = ? AND ? > 0)`,
        ...[index - BASE_IMAGES.length, id, status, JSON.stringify(content), content.name, index],
      );
    }
  }

  /** A project's backups of a server, the newest first. */
  backups(owner: string, { instanceUuid, type }: Pick<Rotation, "instanceUuid" | "type">): readonly Image[] {
    return this.#sql
      .all(
        `SELECT id, status, content FROM images WHERE content ->> '$.properties.instance_uuid' = ?
           AND content ->> '$.properties.image_type' = 'backup' AND content ->> '$.properties.backup_type' = ?
           AND content ->> '$.owner' = ? ORDER BY number DESC`,
        instanceUuid,
        type,
        owner,
      )
      .map(imageOf);
  }

  /** @throws {DuplicateRecord} */
  add(id: string, attributes: ImageAttributes & Partial<ImageNotes>): Image {
    const now = this.#clock.now();
    const content = { ...NO_CONTENT, ...NO_NOTES, ...attributes, createdAt: now, updatedAt: now };
    const text = JSON.stringify(content);
    this.#sql.run("INSERT INTO images (id, status, content) VALUES (?, 'queued', ?)", id.toLowerCase(), text);
    return { id, status: "queued", ...content };
  }

  /** False: there is none in one of these states (any more), and nothing was changed. */
  change(
    id: string,
    from: readonly ImageStatus[],
    { status, ...changes }: Partial<ImageAttributes & ImageContent & ImageNotes> & { readonly status?: ImageStatus },
  ): boolean {
    return this.#sql.transaction(() => {
      const found = this.get(id);
      if (!found || !from.includes(found.status)) {
        return false;
      }
      const { id: key, status: before, ...content } = found;
      const text = JSON.stringify({ ...content, ...changes, updatedAt: this.#clock.now() });
      this.#sql.run("UPDATE images SET status = ?, content = ? WHERE id = ?", status ?? before, text, key);
      return true;
    });
  }

  remove(id: string): void {
    this.#sql.run("DELETE FROM images WHERE id = ?", id.toLowerCase());
  }
}

function imageOf([id, status, content]: SqlRow): Image {
  return { ...NO_NOTES, ...JSON.parse(String(content)), id: String(id), status: String(status) } as Image;
}
