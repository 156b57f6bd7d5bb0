import { describe, expect, it } from "vitest";
import { agree } from "../../../../../src/cli/cluster/file/cluster-changes.js";
import type { Terminal } from "../../../../../src/cli/ui/terminal.js";

const ADDED = { sign: "+", text: "host a[1-3]", destroys: false } as const;
const GONE = { sign: "-", text: `flavor ${"with a long name ".repeat(3)}`.trim(), destroys: true } as const;

/** Returns the output and the exit code. Confirmation is impossible, since this is no terminal. */
async function agreed(changes: Parameters<typeof agree>[1], flags: Parameters<typeof agree>[2] = {}) {
  const output: string[] = [];
  const print = (text: string) => void output.push(text);
  const terminal = { columns: 40, print, complain: print } as unknown as Terminal;
  const place = { terminal, interrupt: new AbortController().signal };
  return { end: await agree("c.yaml", changes, flags, place), output: output.join("\n") };
}

describe("the output about the changes of a cluster file", () => {
  it("states that nothing changes", async () => {
    expect(await agreed([])).toEqual({ end: undefined, output: "c.yaml: nothing changes" });
  });

  it("lists each change within the terminal's width; changes that destroy nothing need no confirmation", async () => {
    expect(await agreed([ADDED])).toEqual({ end: undefined, output: "c.yaml changes:\n  + host a[1-3]" });
    const { output } = await agreed([ADDED, GONE], { yes: true });
    expect(output).toBe(
      "c.yaml changes:\n  + host a[1-3]\n  - flavor with a long name with a long\n    name with a long name (destroys)",
    );
  });

  it("rejects destructive changes without a terminal, unless --yes confirms them", async () => {
    expect(await agreed([GONE])).toEqual({
      end: 3,
      output: expect.stringContaining("confirm it with --yes; nothing was changed"),
    });
    expect((await agreed([GONE], { yes: true })).end).toBeUndefined();
  });

  it("ends the command with --check, whatever the changes", async () => {
    expect((await agreed([GONE], { check: true })).end).toBe(0);
    expect((await agreed([GONE], { check: true, yes: true })).end).toBe(0);
  });
});
