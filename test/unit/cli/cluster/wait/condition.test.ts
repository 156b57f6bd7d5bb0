import { describe, expect, it } from "vitest";
import { parseCondition } from "../../../../../src/cli/cluster/wait/condition.js";

describe("conditions that `wait --for` accepts", () => {
  it.each([
    ["settled", { kind: "settled" }],
    ["hosts=3", { kind: "hosts", count: 3 }],
    ["server=vm1:ACTIVE", { kind: "server", server: "vm1", status: "ACTIVE" }],
    ["server=a:b=c:verify_resize", { kind: "server", server: "a:b=c", status: "VERIFY_RESIZE" }],
  ])("%s", (text, expected) => {
    expect(parseCondition(text, [{ kind: "settled" }])).toEqual([{ kind: "settled" }, expected]);
  });

  it.each([
    ["server=vm1:ACTVE", /there is no status ACTVE; did you mean ACTIVE\?/],
    ["server=vm1:done", /there is no status DONE; expected one of ACTIVE, BUILD, DELETED/],
  ])("not %s: no server ever has that status", (text, reason) => {
    expect(() => parseCondition(text)).toThrow(reason);
  });

  it.each(["", "hosts", "hosts=0", "hosts=-1", "hosts=1e3", "hosts=999999", "server=vm1", "server=:ACTIVE", "done"])(
    "not %j",
    (text) => {
      expect(() => parseCondition(text)).toThrow(/expected hosts=N/);
    },
  );
});
