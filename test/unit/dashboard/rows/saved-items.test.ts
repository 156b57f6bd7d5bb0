import { expect, it } from "vitest";
import { SavedItems } from "../../../../src/dashboard/rows/saved-items.js";
import type { FindingRow } from "../../../../src/dashboard/wire/rows.js";

const row = (consumer: string): FindingRow => ({
  code: "wrong-amounts",
  text: "",
  explanation: "",
  commands: [],
  host: null,
  server: null,
  consumer,
  provider: null,
});

function itemsWith(finding: ReadonlyMap<string, FindingRow>) {
  const changes: string[] = [];
  const none = { edit: new Map(), snapshot: new Map(), scenario: new Map() };
  const items = new SavedItems(
    async () => ({ ...none, finding }),
    (kind, key) => changes.push(`${kind} ${key}`),
  );
  return { items, changes };
}

it("a finding of the audit is dropped when its consumer changes, and does not return until the next audit", async () => {
  const finding = new Map([
    ["one", row("a")],
    ["two", row("b")],
  ]);
  const { items, changes } = itemsWith(finding);
  await items.note();
  changes.length = 0;
  items.dropFindings("a");
  expect(changes).toEqual(["finding one"]);
  await items.note();
  expect([...items.all.finding.keys()]).toEqual(["two"]);
  finding.set("one", row("a"));
  await items.note();
  expect([...items.all.finding.keys()]).toEqual(["one", "two"]);
});

it("findings of an audit are not shown to a viewer who comes later, since changes were not followed", async () => {
  const { items } = itemsWith(new Map([["one", row("a")]]));
  await items.note();
  items.clear();
  await items.note();
  expect(items.all.finding.size).toBe(0);
});
