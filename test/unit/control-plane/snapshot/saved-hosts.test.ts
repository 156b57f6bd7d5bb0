import { describe, expect, it } from "vitest";
import {
  downHosts,
  downHostsText,
  type HostToSave,
  type SavedHosts,
  savedHosts,
  savedHostsSummary,
} from "../../../../src/control-plane/snapshot/saved-state.js";

function row(host: string, state: HostToSave["state"], more: Partial<HostToSave> = {}): HostToSave {
  return { host, state, pid: 7, process: "own", service: { forcedDown: false }, ...more };
}

const SAVED: SavedHosts = {
  a: { state: "running", forcedDown: true },
  b1: { state: "killed", forcedDown: false },
  b2: { state: "killed", forcedDown: false },
  c: { state: "stopped", forcedDown: false },
  d: { state: "suspended", forcedDown: false },
};

describe("the hosts in a snapshot", () => {
  it("have the states of their agents, and whether they are forced down", () => {
    const rows = [
      row("serves", "serving", { service: { forcedDown: true } }),
      row("starts", "starting", { service: null }),
      row("failed", "failed", { pid: null }),
      row("killed", "killed", { pid: null }),
      row("stops", "stopping"),
      row("suspended", "serving", { pid: 8 }),
      row("died a moment ago", "serving", { pid: 9 }),
      row("of another machine", "serving", { process: "elsewhere" }),
      row("never started", "stopped", { process: null, pid: null }),
    ];
    const states = savedHosts(
      rows,
      new Map([
        [7, {}],
        [8, { suspended: true }],
      ]),
    );
    expect(states).toEqual({
      serves: { state: "running", forcedDown: true },
      starts: { state: "running", forcedDown: false },
      failed: { state: "running", forcedDown: false },
      killed: { state: "killed", forcedDown: false },
      stops: { state: "stopped", forcedDown: false },
      suspended: { state: "suspended", forcedDown: false },
      "died a moment ago": { state: "killed", forcedDown: false },
    });
  });

  it("that were down stay down after a restore, and suspended ones are killed", () => {
    expect([...downHosts(SAVED)]).toEqual([
      ["b1", "killed"],
      ["b2", "killed"],
      ["c", "stopped"],
      ["d", "killed"],
    ]);
    expect([...downHosts(undefined)]).toEqual([]);
  });

  it("are listed with the command that starts them", () => {
    expect(downHostsText(SAVED, " --name ci")).toEqual([
      "Left down, as when the state was saved: b[1-2] killed, c stopped.",
      "Killed: d, which were suspended when the state was saved; a restore cannot suspend processes.",
      "To start again: compute-agent host start 'b[1-2],c,d' --name ci",
    ]);
    expect(downHostsText({ a: { state: "running", forcedDown: true } }, "")).toEqual([]);
    expect(downHostsText(undefined, "")).toEqual([]);
    expect(savedHostsSummary(SAVED)).toBe("1 running, 2 killed, 1 stopped, 1 suspended, 1 forced down");
    expect(savedHostsSummary(undefined)).toBe("-");
  });
});
