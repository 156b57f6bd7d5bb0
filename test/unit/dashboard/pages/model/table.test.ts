import { effect } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { Table } from "../../../../../src/dashboard/pages/model/cluster.js";

interface Row {
  readonly host: string;
}

describe("a table of rows", () => {
  it("notifies a row's listeners of its own changes only", () => {
    const table = new Table<Row>();
    const observed: (string | undefined)[] = [];
    effect(() => {
      observed.push(table.get("a")?.host);
    });
    table.set("b", { host: "h1" });
    table.set("a", { host: "h1" });
    table.delete("a");
    table.delete("a");
    expect(observed).toEqual([undefined, "h1", undefined]);
  });

  it("moves a row between groups and notifies the listeners of both", () => {
    const table = new Table<Row>();
    const byHost = table.groupBy(({ host }) => [host]);
    const counts: string[] = [];
    effect(() => {
      counts.push(`${byHost.get("h1").length}/${byHost.get("h2").length}`);
    });
    table.set("a", { host: "h1" });
    table.set("a", { host: "h2" });
    table.set("b", { host: "h3" });
    table.delete("a");
    expect(counts.at(0)).toBe("0/0");
    expect(counts).toContain("1/0");
    expect(counts).toContain("0/1");
    expect(counts.at(-1)).toBe("0/0");
    expect(byHost.get("h3")).toEqual([{ host: "h3" }]);
  });

  it("shows old rows until all are sent again, then removes those that were not", () => {
    const table = new Table<Row>();
    table.set("a", { host: "h1" });
    table.set("b", { host: "h1" });
    table.doubt();
    table.set("b", { host: "h2" });
    expect([...table.rows.keys()]).toEqual(["a", "b"]);
    table.settle();
    expect([...table.rows.keys()]).toEqual(["b"]);
  });
});
