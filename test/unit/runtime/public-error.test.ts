import { expect, test } from "vitest";
import { messageOf, PublicError, publicMessageOf, tracebackOf } from "../../../src/runtime/error-messages.js";

test("the message of an error, and the text of anything else that was thrown", () => {
  expect([messageOf("a text"), messageOf(new Error("an error"))]).toEqual(["a text", "an error"]);
});

class Ours extends PublicError {
  override readonly name: string = "Ours";
}

class TheirsWithoutName extends Error {}

const SECRET = "connect https://user:secret@bmc";

test.each([
  ["the message of one that is public", new Ours("no room"), "no room"],
  ["its name where there is no message", new Ours(), "Ours"],
  ["the name alone of an error that any library may throw", new Error(SECRET), "Error"],
  ["the class of another", new TypeError(SECRET), "TypeError"],
  ["the class of one that names itself Error", new TheirsWithoutName(SECRET), "TheirsWithoutName"],
  ["nothing of what is no error", SECRET, "Error"],
])("a user reads %s", (_, error, message) => {
  expect(publicMessageOf(error)).toBe(message);
});

test("the traceback has the error and its causes", () => {
  const traceback = tracebackOf(new Ours("no room", { cause: new Error(SECRET) }));
  expect(traceback).toMatch(/^Ours: no room|^Error: no room/);
  expect(traceback).toContain(`Caused by: Error: ${SECRET}`);
  expect(tracebackOf(SECRET)).toBeNull();
});

test("the traceback has every error of an aggregate", () => {
  const both = new AggregateError([new Error("the build"), new Error("the clean-up")], "both");
  const traceback = tracebackOf(new Ours("no room", { cause: both }));
  expect(traceback).toContain("Caused by: Error: the build");
  expect(traceback).toContain("Caused by: Error: the clean-up");
});

test("circular causes end", () => {
  const error = new Error("one");
  error.cause = error;
  expect(tracebackOf(error)?.split("Caused by")).toHaveLength(10);
});
