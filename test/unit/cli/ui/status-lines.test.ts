import { createColors } from "picocolors";
import { describe, expect, it } from "vitest";
import { StatusLines } from "../../../../src/cli/ui/status-lines.js";
import type { ComponentState, ComponentStatus } from "../../../../src/control-plane/local/component.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const ESCAPE = String.fromCharCode(27);

/** Simulates a terminal of this size, including the lines that were scrolled out of it. */
class Screen {
  readonly lines: string[] = [""];
  readonly #columns: number;
  readonly #rows: number;
  /** The highest line that the cursor can still reach. */
  #top = 0;
  #at = 0;
  lost = 0;

  constructor(columns: number, rows: number) {
    this.#columns = columns;
    this.#rows = rows;
  }

  write(text: string): void {
    const up = /^\[(\d+)A\[J/;
    let rest = text;
    while (rest !== "") {
      const moved = rest.startsWith(ESCAPE) ? up.exec(rest.replaceAll(ESCAPE, "")) : null;
      if (moved !== null) {
        const targetRow = this.#at - Number(moved[1]);
        this.lost += Math.max(0, this.#top - targetRow);
        this.#at = Math.max(this.#top, targetRow);
        this.lines.length = this.#at;
        this.lines.push("");
        rest = rest.slice(moved[0].length + 2);
        continue;
      }
      this.#put(rest[0] ?? "");
      rest = rest.slice(1);
    }
  }

  #put(character: string): void {
    if (character !== "\n" && (this.lines[this.#at] ?? "").length < this.#columns) {
      this.lines[this.#at] += character;
      return;
    }
    this.#at += 1;
    this.lines[this.#at] = character === "\n" ? "" : character;
    this.#top = Math.max(this.#top, this.#at - this.#rows + 1);
  }
}

function createHarness({ rows = 24, columns = 80, interactive = true } = {}) {
  const runtime = createVirtualRuntime();
  const screen = new Screen(columns, rows);
  const printed: string[] = [];
  const lines = new StatusLines(
    {
      interactive,
      columns,
      rows,
      colors: createColors(false),
      print: (text) => void printed.push(text),
      complain: () => undefined,
      write: (text) => screen.write(text),
    },
    runtime.timers,
  );
  const update = (name: string, state: ComponentState, detail = "", more: Partial<ComponentStatus> = {}) =>
    lines.update({ name, state, detail, pid: null, exitCode: null, since: 0, ...more });
  const visibleLines = () => screen.lines.filter((line) => line !== "");
  return { runtime, screen, lines, update, printed, visibleLines: visibleLines };
}

describe("status lines on a terminal", () => {
  it("are redrawn in place", async () => {
    const { runtime, update, visibleLines } = createHarness();
    update("control-plane", "starting", "pid 1");
    update("control-plane", "ready", "http://127.0.0.1:1");
    update("devstack1", "ready", "pid 2");
    await runtime.advance(100);
    expect(visibleLines()).toEqual(["✓ control-plane  ready    http://127.0.0.1:1", "✓ devstack1      ready    pid 2"]);
  });

  it("are summarized if there is no room, without repetition", async () => {
    const { runtime, screen, update, visibleLines } = createHarness({ rows: 24 });
    update("control-plane", "ready", "http://127.0.0.1:1");
    for (let number = 1; number <= 26; number += 1) {
      update(`devstack${number}`, "starting", `pid ${number}`);
      await runtime.advance(100);
    }
    for (let number = 1; number <= 26; number += 1) {
      update(`devstack${number}`, number === 7 ? "failed" : "ready", number === 7 ? "refused: no" : "");
      await runtime.advance(100);
    }
    expect(visibleLines()).toEqual([
      "✓ control-plane  ready    http://127.0.0.1:1",
      "✓ 25 processes   ready    devstack[1-6,8-26]",
      "✗ devstack7      failed   refused: no",
    ]);
    expect(screen.lost).toBe(0);
  });

  it("do not break a path, and count its rows", async () => {
    const { runtime, screen, update, visibleLines } = createHarness({ columns: 40, rows: 12 });
    const path = `/${"folder/".repeat(8)}nova.conf`;
    update("devstack1", "failed", `cannot read ${path} at all`);
    update("devstack2", "starting");
    await runtime.advance(100);
    update("devstack2", "ready", "pid 2");
    await runtime.advance(100);
    expect(visibleLines().join("")).toContain(path);
    expect(visibleLines().filter((line) => line.startsWith("✗ devstack1"))).toHaveLength(1);
    expect(screen.lost).toBe(0);
  });

  it("start a new block after a pause, and are complete before it", async () => {
    const { runtime, lines, update, screen, visibleLines } = createHarness();
    update("a", "starting");
    update("a", "ready");
    lines.pause();
    screen.write("welcome\n");
    update("a", "killed", "SIGKILL");
    await runtime.advance(100);
    expect(visibleLines()).toEqual(["✓ a  ready", "welcome", "✗ a  killed   SIGKILL"]);
  });
});

describe("status lines without a terminal", () => {
  it("are one for each state of a process, and a few for a starting pool", async () => {
    const { runtime, lines, update, printed } = createHarness({ interactive: false });
    update("devstack1", "starting", "pid 1");
    update("devstack1", "starting", "pid 1, further on");
    update("devstack1", "ready", "pid 1");
    for (let count = 1; count <= 100; count += 1) {
      const state = count === 100 ? "ready" : "starting";
      update("pool-1", state, `h[1-100]  ${count} of 100 serve`, { isSum: true });
      await runtime.advance(100);
    }
    lines.end();
    await runtime.advance(60_000);
    expect(printed).toEqual([
      "… devstack1  starting pid 1",
      "✓ devstack1  ready    pid 1",
      "… pool-1     starting h[1-100]  1 of 100 serve",
      "… pool-1     starting h[1-100]  50 of 100 serve",
      "✓ pool-1     ready    h[1-100]  100 of 100 serve",
    ]);
  });
});
