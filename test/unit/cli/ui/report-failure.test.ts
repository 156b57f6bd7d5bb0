import { expect, it } from "vitest";
import { toDo } from "../../../../src/cli/ui/report-failure.js";
import { RefusedByBroker } from "../../../../src/runtime/message-broker.js";

it("names the options that decide of which kind queues are, to whom a broker refuses for theirs", () => {
  expect(toDo(new RefusedByBroker("PRECONDITION_FAILED", "exchange nova: inequivalent arg 'durable'"))).toMatch(
    /^\nTo do: set amqp_durable_queues, rabbit_quorum_queue/,
  );
  expect(toDo(new RefusedByBroker("ACCESS_REFUSED", "the login"))).toBe("");
  expect(toDo(new Error("disk full"))).toBe("");
});
