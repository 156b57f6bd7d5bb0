import { expect, test } from "vitest";
import { CONDUCTOR_METHODS } from "../../../../src/conductor-client/methods/conductor.js";
import { SESSION_METHODS } from "../../../../src/conductor-client/methods/session.js";
import { PROTOCOL_VERSION } from "../../../../src/conductor-client/wire.js";

/**
 * The methods of a protocol version never change: a new method or parameter needs a new version, with its own fixture file.
 */
test("the methods for agents are those of their protocol version", async () => {
  const methods = Object.entries({ ...CONDUCTOR_METHODS, ...SESSION_METHODS });
  const lines = methods.map(([name, { params }]) => `${name}(${Object.keys(params).toSorted().join(", ")})`);
  const folder = "../../../fixtures/wire-versions";
  await expect(`${lines.toSorted().join("\n")}\n`).toMatchFileSnapshot(`${folder}/${PROTOCOL_VERSION}.txt`);
});
