import { expect, onTestFinished, test } from "vitest";
import { createTerminal } from "../../../../src/cli/ui/terminal.js";

function setSize(columns: number | undefined, rows: number | undefined): void {
  for (const [name, value] of Object.entries({ columns, rows })) {
    const before = Object.getOwnPropertyDescriptor(process.stdout, name);
    Object.defineProperty(process.stdout, name, { value, configurable: true });
    onTestFinished(() => {
      Reflect.deleteProperty(process.stdout, name);
      if (before) {
        Object.defineProperty(process.stdout, name, before);
      }
    });
  }
}

test("a terminal has the size of standard output", () => {
  setSize(80, 24);
  expect(createTerminal()).toMatchObject({ columns: 80, rows: 24 });
});

test.each([
  ["a pipe, which has no size", undefined],
  ["a pseudo-terminal whose size nobody has set", 0],
])("text is not cut to nothing on %s", (_name, size) => {
  setSize(size, size);
  expect(createTerminal()).toMatchObject({ columns: 120, rows: Number.POSITIVE_INFINITY });
});
