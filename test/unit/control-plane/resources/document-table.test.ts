import { beforeEach, expect, test } from "vitest";
import { DatabaseFile } from "../../../../src/control-plane/database/database-file.js";
import { Sql } from "../../../../src/control-plane/database/sql.js";
import { EVERY } from "../../../../src/control-plane/resources/condition.js";
import { DocumentTable } from "../../../../src/control-plane/resources/document-table.js";
import { findPage } from "../../../../src/control-plane/resources/resource-page.js";

const BOOKS = {
  table: "books",
  document: "body",
  keys: { name_key: { attribute: "name", toKey: (name: string) => name.toUpperCase() } },
  attributes: {
    name: { type: { column: "text" } },
    isLoaned: { type: { column: "boolean" } },
    section: { type: { column: "text" } },
  },
} as const;

interface Book {
  readonly id: string;
  readonly name: string;
  readonly isLoaned: boolean;
  readonly section: string | null;
  readonly note?: string;
}

let sql: Sql;
let books: DocumentTable<Book>;

beforeEach(() => {
  sql = new Sql(new DatabaseFile(":memory:"));
  sql.file.exec("CREATE TABLE books (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, body TEXT, name_key TEXT) STRICT");
  books = new DocumentTable(sql, BOOKS);
  books.insert({ id: "c", name: "Emma", isLoaned: true, section: "A", note: "torn" });
  books.insert({ id: "b", name: "Ulysses", isLoaned: false, section: null });
  books.insert({ id: "a", name: "Middlemarch", isLoaned: false, section: "B" });
});

const keyOf = (id: string) => sql.get("SELECT name_key FROM books WHERE id = ?", id)?.[0];

test("a document retains members that its resource does not describe", () => {
  expect(books.get("c")).toEqual({ id: "c", name: "Emma", isLoaned: true, section: "A", note: "torn" });
});

test.each([
  [{ isLoaned: false }, ["b", "a"]],
  [{ section: null }, ["b"]],
  [{ section: ["A", "B", "C"] }, ["c", "a"]],
  [{ section: ["A", "B"], isLoaned: false }, ["a"]],
  [{ id: [] }, []],
])("documents with %j are %j, in the order of creation", (values, ids) => {
  expect(books.findBy(values).map(({ id }) => id)).toEqual(ids);
});

test("pages of documents are sorted by attributes", () => {
  const sort = [{ attribute: "name", direction: "DESC" }] as const;
  expect(findPage(sql, BOOKS, EVERY, { sort, limit: 2, marker: "b", isReverse: false })).toEqual(["a", "c"]);
});

test("an update replaces the document, and its key if the attribute changed", () => {
  books.update({ id: "c", name: "emma", isLoaned: false, section: "A" });
  expect([books.get("c"), keyOf("c")]).toEqual([{ id: "c", name: "emma", isLoaned: false, section: "A" }, "EMMA"]);
  sql.run("UPDATE books SET name_key = NULL");
  books.update({ id: "b", name: "Ulysses", isLoaned: true, section: null });
  books.update({ id: "a", name: "Silas Marner", isLoaned: false, section: "B" });
  expect([keyOf("b"), keyOf("a")]).toEqual([null, "SILAS MARNER"]);
});
