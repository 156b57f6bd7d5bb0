import { describe, expect, it } from "vitest";
import {
  ConfigRejectedError,
  type RejectionCode,
  StartRejectedError,
  toStartupRejection,
} from "../../../../src/agent/rejections.js";
import { TrackerError } from "../../../../src/agent/tracker/contract.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { InvalidConfiguration } from "../../../../src/virt/errors.js";

const DETAILS = { found: "x", hint: "y", records: { a: "1" } };

describe("refusals", () => {
  it("of the guard say that nothing was touched", () => {
    const rejection = toStartupRejection(
      new ConfigRejectedError("hypervisor-of-other-host", { found: "x", hint: "y" }),
    );
    expect(rejection).toEqual({
      code: "hypervisor-of-other-host",
      error: "InvalidConfiguration",
      spec: "2.4 f",
      untouched: true,
      found: "x",
      hint: "y",
      records: {},
    });
  });

  it.each<[Error, RejectionCode, string, string]>([
    [
      new ConfigRejectedError("identity-lost", DETAILS),
      "identity-lost",
      "InvalidConfiguration",
      "InvalidConfiguration",
    ],
    [
      new StartRejectedError("identity-ambiguous", DETAILS),
      "identity-ambiguous",
      "InvalidNodeConfiguration",
      "InvalidNodeConfiguration",
    ],
    [new StartRejectedError("host-lease-held", DETAILS), "host-lease-held", "HostLeaseHeld", "HostLeaseHeld"],
    [new StartRejectedError("service-too-old", DETAILS), "service-too-old", "ServiceTooOld", "ServiceTooOld"],
  ])("are errors of their kind, with what to do: %s", (error, code, name, kind) => {
    expect(error).toMatchObject({ name: kind });
    expect(error.message).toBe("x. To fix it: y");
    expect(toStartupRejection(error)).toMatchObject({ code, error: name, untouched: true, ...DETAILS });
  });

  it("carry their records over the wire where the conductor has such an error", () => {
    for (const error of [
      new StartRejectedError("identity-ambiguous", DETAILS),
      new StartRejectedError("host-lease-held", DETAILS),
      new StartRejectedError("service-too-old", DETAILS),
    ]) {
      expect(error.data).toEqual({ a: "1" });
    }
  });

  it.each<[RejectionCode, string, string]>([
    ["max-disk-devices-zero", "InvalidConfiguration", "2.2 row 1"],
    ["identity-lost", "InvalidConfiguration", "2.3, 2.4 G7"],
    ["identity-unparseable", "InvalidNodeConfiguration", "2.3"],
    ["identity-ambiguous", "InvalidNodeConfiguration", "2.3"],
    ["identity-not-writable", "InvalidNodeConfiguration", "2.3"],
    ["identity-no-node", "InvalidConfiguration", "2.3"],
    ["identity-many-nodes", "InvalidConfiguration", "2.3"],
    ["hypervisor-renamed", "InvalidConfiguration", "2.4 c"],
    ["node-of-other-host", "InvalidConfiguration", "2.4 d"],
    ["node-recorded-twice", "InvalidConfiguration", "2.4 e"],
    ["guests-on-new-host", "InvalidConfiguration", "2.2 row 3"],
  ])("%s is OpenStack's %s, of row %s; nothing was touched", (code, error, spec) => {
    expect(toStartupRejection(new ConfigRejectedError(code, DETAILS))).toMatchObject({
      code,
      error,
      spec,
      untouched: true,
    });
  });

  it.each([
    [new InvalidConfiguration("a node collides"), "configuration-invalid", "2.2 rows 2 and 9, 4.8", false],
    [new TrackerError("ComputeServiceInUse", "made anew"), "service-changed", "2.1 row 5", false],
    [new TrackerError("ServiceNotUnique", "of another"), "service-of-other-host", "2.1 row 5", false],
    [new ConductorError("ServiceTooOld", "too old"), "service-too-old", "1.2", false],
    [new ConductorError("HostLeaseHeld", "held"), "host-lease-held", "2.4 G6", false],
    [new TrackerError("ProviderConfigException", "broken"), "provider-config-invalid", "2.1 row 1, 4.9", true],
  ])("by other layers may have been preceded by writes: %s", (error, code, spec, untouched) => {
    expect(toStartupRejection(error)).toEqual({
      code,
      error: error.name,
      spec,
      untouched,
      found: error.message,
      hint: "",
      records: {},
    });
  });

  it("are not guessed at", () => {
    expect(toStartupRejection(new Error("something else"))).toBeNull();
    expect(toStartupRejection("no error at all")).toBeNull();
    expect(toStartupRejection({ name: "ServiceTooOld", message: "no error, either" })).toBeNull();
  });
});
