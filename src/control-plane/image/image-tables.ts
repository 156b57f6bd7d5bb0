import type { Clock } from "../../runtime/time.js";
import { applySchema, type SchemaStep } from "../database/schema-steps.js";
import type { Sql, SqlRow } from "../database/sql.js";
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
} from "./image.js";

/** Tables of the embedded Image service in the store's database. The data of images is in files. */
export const IMAGE_SCHEMA: readonly SchemaStep[] = [
  {
    version: 1,
    name: "images",
    sql: `
CREATE TABLE images (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL CHECK (status IN ('queued', 'saving', 'active')),
  content TEXT NOT NULL
) STRICT;
`,
  },
  {
    version: 2,
    name: "staging, members, tasks",
    sql: `
CREATE TABLE new_images (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL CHECK (status IN ('queued', 'saving', 'uploading', 'importing', 'active', 'deactivated')),
  content TEXT NOT NULL
) STRICT;
INSERT INTO new_images SELECT number, id, status, content FROM images;
DROP TABLE images;
ALTER TABLE new_images RENAME TO images;
CREATE TABLE image_members (
  number INTEGER PRIMARY KEY,
  image_id TEXT NOT NULL REFERENCES images (id) ON DELETE CASCADE,
  member_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'accepted', 'rejected')),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (image_id, member_id)
) STRICT;
CREATE INDEX image_members_member ON image_members (member_id);
CREATE TABLE image_tasks (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  image_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'processing', 'success', 'failure')),
  content TEXT NOT NULL
) STRICT;
CREATE INDEX image_tasks_image ON image_tasks (image_id);
`,
  },
  {
    version: 3,
    name: "metadata definitions",
    sql: `
CREATE TABLE metadef_namespaces (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE metadef_entries (
  number INTEGER PRIMARY KEY,
  namespace INTEGER NOT NULL REFERENCES metadef_namespaces (number) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('object', 'property', 'tag', 'resource_type')),
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (namespace, kind, name)
) STRICT;
CREATE TABLE metadef_resource_types (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;
`,
  },
];

/** Records of images, including {@link BASE_IMAGES}. */
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

  /** Returns all images in the order of their creation. */
  list(): readonly Image[] {
    return this.#sql.all("SELECT id, status, content FROM images ORDER BY number").map(imageOf);
  }

  /**
   * Inserts missing base images before all others. If users have an image with such a name, the base image is not
   * added.
   */
  ensureBaseImages(): void {
    for (const [index, { id, status, ...content }] of BASE_IMAGES.entries()) {
      this.#sql.run(
        `INSERT OR IGNORE INTO images (number, id, status, content) SELECT ?, ?, ?, ?
         WHERE NOT EXISTS (SELECT 1 FROM images WHERE content ->> '$.name' = ? AND ? > 0)`,
        ...[index - BASE_IMAGES.length, id, status, JSON.stringify(content), content.name, index],
      );
    }
  }

  /** Returns a project's backups of a server, newest first. */
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

  /** Changes an image. Returns false, without a change, if the image does not exist in one of these statuses. */
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

export const MEMBER_STATUSES = ["pending", "accepted", "rejected"] as const;

type MemberStatus = (typeof MEMBER_STATUSES)[number];

/** A project with which an image is shared. */
export interface Member {
  readonly memberId: string;
  readonly status: MemberStatus;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

const COLUMNS = "member_id, status, created_at, updated_at";

/** The projects with which images are shared. Members are deleted with their image. */
export class MemberTable {
  readonly #sql: Sql;
  readonly #clock: Clock;

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  get(imageId: string, memberId: string): Member | undefined {
    const where = "WHERE image_id = ? AND member_id = ?";
    const row = this.#sql.get(`SELECT ${COLUMNS} FROM image_members ${where}`, imageId.toLowerCase(), memberId);
    return row && memberOf(row);
  }

  /** Returns the members in the order in which they were added. */
  list(imageId: string): readonly Member[] {
    return this.#sql
      .all(`SELECT ${COLUMNS} FROM image_members WHERE image_id = ? ORDER BY number`, imageId.toLowerCase())
      .map(memberOf);
  }

  count(imageId: string): number {
    return Number(this.#sql.get("SELECT count(*) FROM image_members WHERE image_id = ?", imageId.toLowerCase())?.[0]);
  }

  /** Returns the member statuses of a project by the ids of the images shared with it. */
  of(memberId: string): ReadonlyMap<string, MemberStatus> {
    const rows = this.#sql.all("SELECT image_id, status FROM image_members WHERE member_id = ?", memberId);
    return new Map(rows.map(([image, status]) => [String(image), String(status) as MemberStatus]));
  }

  /** @throws {DuplicateRecord} */
  add(imageId: string, memberId: string): Member {
    const now = this.#clock.now();
    this.#sql.run(
      `INSERT INTO image_members (image_id, ${COLUMNS}) VALUES (?, ?, 'pending', ?, ?)`,
      imageId.toLowerCase(),
      memberId,
      now,
      now,
    );
    return { memberId, status: "pending", createdAt: now, updatedAt: now };
  }

  setStatus(imageId: string, memberId: string, status: MemberStatus): void {
    this.#sql.run(
      "UPDATE image_members SET status = ?, updated_at = ? WHERE image_id = ? AND member_id = ?",
      status,
      this.#clock.now(),
      imageId.toLowerCase(),
      memberId,
    );
  }

  remove(imageId: string, memberId: string): void {
    this.#sql.run("DELETE FROM image_members WHERE image_id = ? AND member_id = ?", imageId.toLowerCase(), memberId);
  }
}

function memberOf([memberId, status, createdAt, updatedAt]: SqlRow): Member {
  return {
    memberId: String(memberId),
    status: String(status) as MemberStatus,
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
  };
}

type TaskStatus = "pending" | "processing" | "success" | "failure";

/** Glance's `[task] task_time_to_live`: 48 hours, in milliseconds. */
const TIME_TO_LIVE = 48 * 3_600_000;

/** Max saved tasks of an image. The oldest are removed. */
const MAX_TASKS_PER_IMAGE = 100;

interface NewTask {
  readonly id: string;
  readonly imageId: string;
  readonly requestId: string;
  readonly userId: string;
  readonly owner: string | null;
  readonly input: Readonly<Record<string, unknown>>;
}

/** An import task, as the Image API reports it. */
export interface Task extends NewTask {
  readonly status: TaskStatus;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Null until the task has ended. */
  readonly expiresAt: number | null;
}

/** Tasks of images. They outlive their image and are removed when they expire. */
export class TaskTable {
  readonly #sql: Sql;
  readonly #clock: Clock;

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** Returns an image's tasks, newest first. */
  list(imageId: string): readonly Task[] {
    return this.#sql
      .all("SELECT id, image_id, status, content FROM image_tasks WHERE image_id = ? ORDER BY number DESC", imageId)
      .map(taskOf);
  }

  /** Adds a task in progress, and removes expired ones. */
  add(task: NewTask): void {
    const now = this.#clock.now();
    this.#forget(task.imageId, now);
    const { id, imageId, ...rest } = task;
    const content = JSON.stringify({ ...rest, message: "", createdAt: now, updatedAt: now, expiresAt: null });
    this.#sql.run(
      "INSERT INTO image_tasks (id, image_id, status, content) VALUES (?, ?, 'processing', ?)",
      id,
      imageId,
      content,
    );
  }

  end(id: string, status: "success" | "failure", message = ""): void {
    const now = this.#clock.now();
    const ends = JSON.stringify({ message, updatedAt: now, expiresAt: now + TIME_TO_LIVE });
    this.#sql.run("UPDATE image_tasks SET status = ?, content = json_patch(content, ?) WHERE id = ?", status, ends, id);
  }

  /** Fails the tasks that were in progress when the previous process ended. */
  failUnfinished(message: string): void {
    for (const [id] of this.#sql.all("SELECT id FROM image_tasks WHERE status IN ('pending', 'processing')")) {
      this.end(String(id), "failure", message);
    }
  }

  #forget(imageId: string, now: number): void {
    this.#sql.run("DELETE FROM image_tasks WHERE json_extract(content, '$.expiresAt') < ?", now);
    this.#sql.run(
      `DELETE FROM image_tasks WHERE image_id = ? AND number NOT IN
         (SELECT number FROM image_tasks WHERE image_id = ? ORDER BY number DESC LIMIT ${MAX_TASKS_PER_IMAGE - 1})`,
      imageId,
      imageId,
    );
  }
}

function taskOf([id, imageId, status, content]: SqlRow): Task {
  return { ...JSON.parse(String(content)), id: String(id), imageId: String(imageId), status: String(status) } as Task;
}
