import { expect, onTestFinished, test } from "vitest";
import { DatabaseFile } from "../../../../src/control-plane/database/database-file.js";
import { applySchema } from "../../../../src/control-plane/database/schema-steps.js";
import { Sql } from "../../../../src/control-plane/database/sql.js";
import { PLAIN } from "../../../../src/control-plane/image/image.js";
import { IMAGE_SCHEMA, ImageTable } from "../../../../src/control-plane/image/image-tables.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";

test("images of the first schema survive the step to staging and members", () => {
  const sql = new Sql(new DatabaseFile(":memory:", ["PRAGMA foreign_keys = ON"]));
  onTestFinished(() => sql.file.close());
  applySchema(sql, "image", IMAGE_SCHEMA.slice(0, 1), 0);
  const content = { name: "old", tags: [], properties: { a: "b" }, createdAt: 1, updatedAt: 2 };
  const id = "11111111-1111-4111-8111-111111111111";
  sql.run("INSERT INTO images (id, status, content) VALUES (?, 'active', ?)", id, JSON.stringify(content));
  const table = new ImageTable(sql, new VirtualWorld().spawn().clock);
  expect(table.get(id)).toEqual({
    id,
    status: "active",
    ...content,
    staged: null,
    internal: {},
    stores: [],
    rotation: null,
  });
  expect(table.change(id, ["active"], { status: "deactivated" })).toBe(true);
});

test("a base image is not added if a user's image has its name", () => {
  const sql = new Sql(new DatabaseFile(":memory:", ["PRAGMA foreign_keys = ON"]));
  onTestFinished(() => sql.file.close());
  const table = new ImageTable(sql, new VirtualWorld().spawn().clock);
  table.add("11111111-1111-4111-8111-111111111111", { ...PLAIN, name: "cirros-0.6.3-x86_64-disk" });
  table.ensureBaseImages();
  expect(table.list().map(({ name }) => name)).toEqual(["cirros", "cirros-0.6.3-x86_64-disk"]);
});

test("a restart keeps changes of base images and restores deleted ones", () => {
  const sql = new Sql(new DatabaseFile(":memory:", ["PRAGMA foreign_keys = ON"]));
  onTestFinished(() => sql.file.close());
  const table = new ImageTable(sql, new VirtualWorld().spawn().clock);
  table.ensureBaseImages();
  const [first, second] = table.list();
  table.change(first?.id ?? "", ["active"], { properties: { hw_disk_bus: "scsi" } });
  table.remove(second?.id ?? "");
  table.ensureBaseImages();
  expect(table.list().map(({ properties }) => properties)).toEqual([{ hw_disk_bus: "scsi" }, {}]);
});
