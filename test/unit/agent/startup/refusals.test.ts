import { describe, expect, it } from "vitest";
import { RefusedConfiguration, refusalOf } from "../../../../src/agent/startup/refusals.js";
import { ComputeServiceInUse, ServiceNotUnique } from "../../../../src/agent/tracker/errors.js";
import { ServiceTooOld } from "../../../../src/conductor/errors.js";
import { InvalidConfiguration } from "../../../../src/virt/errors.js";

describe("refusals", () => {
  it("of the guard say that nothing was touched", () => {
    const refusal = refusalOf(new RefusedConfiguration("hypervisor-of-other-host", { found: "x", mend: "y" }));
    expect(refusal).toMatchObject({ code: "hypervisor-of-other-host", untouched: true });
  });

  it.each([
    [new InvalidConfiguration("a node collides"), "configuration-invalid"],
    [new ComputeServiceInUse("made anew"), "service-changed"],
    [new ServiceNotUnique("of another"), "service-of-other-host"],
    [new ServiceTooOld("too old"), "service-too-old"],
  ])("after the guard do not: %s", (error, code) => {
    expect(refusalOf(error)).toMatchObject({ code, untouched: false, found: error.message });
  });

  it("are not guessed at", () => {
    expect(refusalOf(new Error("something else"))).toBeNull();
    expect(refusalOf("no error at all")).toBeNull();
  });
});
