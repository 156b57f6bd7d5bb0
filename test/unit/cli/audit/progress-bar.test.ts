import { describe, expect, it } from "vitest";
import { ProgressBar } from "../../../../src/cli/ui/terminal.js";

function stream(isTTY: boolean) {
  const written: string[] = [];
  const write = (text: unknown) => written.push(String(text)) > 0;
  return { written, stream: { isTTY, write } as unknown as NodeJS.WriteStream };
}

describe("the progress bar", () => {
  it("redraws one line on a terminal, once per percent, and removes it", () => {
    const { written, stream: terminal } = stream(true);
    const bar = new ProgressBar(terminal);
    for (let done = 0; done <= 10_000; done += 1) {
      bar.update("resource providers", done, 10_000);
    }
    expect(written).toHaveLength(101);
    expect(written.at(50)).toBe(`\r\u001b[2K[${"#".repeat(15)}${" ".repeat(15)}] resource providers: 5000 of 10000`);
    bar.update("servers", 1000, 0);
    expect(written.at(-1)).toBe("\r\u001b[2Kservers: 1000");
    bar.clear();
    expect(written.at(-1)).toBe("\r\u001b[2K");
  });

  it("prints nothing without a terminal", () => {
    const { written, stream: pipe } = stream(false);
    const bar = new ProgressBar(pipe);
    bar.update("servers", 1, 2);
    bar.clear();
    expect(written).toEqual([]);
  });
});
