import type { Clock } from "../../../runtime/clock.js";
import type { Sql, SqlRow } from "../../database/sql.js";

export const MEMBER_STATUSES = ["pending", "accepted", "rejected"] as const;

export type MemberStatus = (typeof MEMBER_STATUSES)[number];

/** A project that an image is shared with. */
export interface Member {
  readonly memberId: string;
  readonly status: MemberStatus;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

const COLUMNS = "member_id, status, created_at, updated_at";

/** The projects that images are shared with. Members go with their image. */
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

  /** In the order in which they were added. */
  list(imageId: string): readonly Member[] {
    return this.#sql
      .all(`SELECT ${COLUMNS} FROM image_members WHERE image_id = ? ORDER BY number`, imageId.toLowerCase())
      .map(memberOf);
  }

  count(imageId: string): number {
    return Number(this.#sql.get("SELECT count(*) FROM image_members WHERE image_id = ?", imageId.toLowerCase())?.[0]);
  }

  /** By image: what the project says of the images that are shared with it. */
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
