import type { Clock } from "../../../runtime/clock.js";
import type { Sql, SqlRow } from "../../database/sql.js";

type TaskStatus = "pending" | "processing" | "success" | "failure";

/** Glance's `[task] task_time_to_live`: 48 hours, in milliseconds. */
const TIME_TO_LIVE = 48 * 3_600_000;

/** Tasks that are kept of one image; the oldest go. */
const MAX_TASKS_PER_IMAGE = 100;

export interface NewTask {
  readonly id: string;
  readonly imageId: string;
  readonly requestId: string;
  readonly userId: string;
  readonly owner: string | null;
  readonly input: Readonly<Record<string, unknown>>;
}

/** An import, as the Image service notes it. */
export interface Task extends NewTask {
  readonly status: TaskStatus;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Null: it has not ended. */
  readonly expiresAt: number | null;
}

/** The tasks of images. They outlive their image, and go when they expire. */
export class TaskTable {
  readonly #sql: Sql;
  readonly #clock: Clock;

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** The newest first. */
  list(imageId: string): readonly Task[] {
    return this.#sql
      .all("SELECT id, image_id, status, content FROM image_tasks WHERE image_id = ? ORDER BY number DESC", imageId)
      .map(taskOf);
  }

  /** Adds one that is under way, and forgets those that have expired. */
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

  /** What was under way when the process before ended. */
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
