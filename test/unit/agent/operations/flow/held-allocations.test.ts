import { expect, it } from "vitest";
import type { OperationServices } from "../../../../../src/agent/operations/flow/contract.js";
import { heldAllocations } from "../../../../../src/agent/operations/flow/release-allocations.js";

const held = { provider: { resources: { VCPU: 1 } } };
const requestedConsumers: string[] = [];
const services = {
  placement: {
    getAllocationsForConsumer: async (consumer: string) => {
      requestedConsumers.push(consumer);
      return { allocations: held };
    },
  },
} as unknown as OperationServices;

it("asks Placement what an instance holds only when its message does not say it", async () => {
  const request = { instanceUuid: "u", requestId: "req-1" };
  expect(await heldAllocations(services, { ...request, allocations: null })).toEqual(held);
  expect(requestedConsumers).toEqual(["u"]);
  expect(await heldAllocations(services, { ...request, allocations: {} })).toEqual({});
  expect(requestedConsumers).toEqual(["u"]);
});
