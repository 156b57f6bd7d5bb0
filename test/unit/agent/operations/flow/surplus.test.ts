import { describe, expect, test } from "vitest";
import { surplus } from "../../../../../src/agent/operations/flow/move-allocations.js";

const NEED = { VCPU: 1, MEMORY_MB: 512 };

describe("the resources beyond an instance's need", () => {
  test("are what exceeds its flavor", () => {
    expect(surplus({ VCPU: 3, MEMORY_MB: 1024 }, NEED)).toEqual({ VCPU: 2, MEMORY_MB: 512 });
  });

  test("are none if its flavor is not covered", () => {
    expect(surplus({ VCPU: 3 }, NEED)).toBeNull();
  });

  test("do not include those of its ports", () => {
    const ofPorts = { NET_BW_EGR_KILOBIT_PER_SEC: 1000, NET_PACKET_RATE_KILOPACKET_PER_SEC: 500 };
    expect(surplus({ ...NEED, ...ofPorts }, NEED)).toBeNull();
  });
});
