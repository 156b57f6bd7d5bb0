import { expect, it } from "vitest";
import { AuditError } from "../../../../src/audit/errors.js";
import { exitCodeOf, toDo } from "../../../../src/cli/ui/exit-code.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { ClusterError } from "../../../../src/control-plane/cluster-error.js";
import { HttpConnectFailure, HttpTimeout } from "../../../../src/runtime/http.js";
import { BrokerRejectedError } from "../../../../src/runtime/message-broker.js";

it("names the options for the kind of queues when a broker rejects the declared kind", () => {
  expect(toDo(new BrokerRejectedError("PRECONDITION_FAILED", "exchange nova: inequivalent arg 'durable'"))).toMatch(
    /^\nTo do: set amqp_durable_queues, rabbit_quorum_queue/,
  );
  expect(toDo(new BrokerRejectedError("ACCESS_REFUSED", "the login"))).toBe("");
  expect(toDo(new Error("disk full"))).toBe("");
});

it.each([
  new AuditError("CloudUnreachable", "no answer"),
  new ConductorError("ConductorUnreachable", "no answer"),
  new HttpConnectFailure("http://127.0.0.1:1", "ECONNREFUSED"),
  new HttpTimeout("http://127.0.0.1:1", 60_000),
  new ConductorError("JoinTokenRefused", "wrong"),
  new ClusterError("NoLocalCloud", "no cluster"),
  new AuditError("NoLocalCloud", "no cluster"),
])("exits with 4 for $name: no control plane responds", (error) => {
  expect(exitCodeOf(error)).toBe(4);
});

it("exits with 2 for an invalid clouds.yaml, and with 1 for an unexpected failure", () => {
  expect([exitCodeOf(new AuditError("CloudConfigInvalid", "no YAML")), exitCodeOf(new Error("disk full"))]).toEqual([
    2, 1,
  ]);
});
