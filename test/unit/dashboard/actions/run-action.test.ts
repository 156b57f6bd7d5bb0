import { expect, it } from "vitest";
import { CloudRequestFailed } from "../../../../src/control-plane/local/cloud-session.js";
import { runAction } from "../../../../src/dashboard/actions.js";
import type { ActionResponse } from "../../../../src/dashboard/wire/messages.js";

async function failureOf(error: Error): Promise<Pick<ActionResponse, "ok" | "error" | "code">> {
  const action = {
    name: "evacuate",
    label: "Evacuate",
    summary: "",
    subject: "server" as const,
    destructive: false,
    fields: [],
    commands: [],
  };
  const { body } = await runAction({ action, run: () => Promise.reject(error) }, "{}", () => undefined);
  const { ok, error: message, code } = JSON.parse(body) as ActionResponse;
  return { ok, error: message, code };
}

const URL = "http://127.0.0.1:8774/compute/v2.1/servers/s1/action";

function failed(status: number, body: unknown): CloudRequestFailed {
  return new CloudRequestFailed("POST", URL, status, typeof body === "string" ? body : JSON.stringify(body));
}

it("the error of an API is its message, with its name and status as the code", async () => {
  const nova = { itemNotFound: { code: 404, message: "Instance s1 could not be found." } };
  expect(await failureOf(failed(404, nova))).toEqual({
    ok: false,
    error: "Instance s1 could not be found.",
    code: "itemNotFound (404)",
  });
  const neutron = { NeutronError: { type: "NetworkNotFound", message: "Network n could not be found.", detail: "" } };
  expect(await failureOf(failed(404, neutron))).toMatchObject({ code: "NetworkNotFound (404)" });
  const placement = { errors: [{ status: 409, title: "Conflict", detail: "generation conflict" }] };
  expect(await failureOf(failed(409, placement))).toMatchObject({
    error: "generation conflict",
    code: "Conflict (409)",
  });
});

it("a response that is no error of an API is described by the request", async () => {
  for (const body of ["<html>Bad gateway</html>", "", "null", "[]", { error: null }]) {
    expect(await failureOf(failed(502, body))).toEqual({
      ok: false,
      error: "POST /compute/v2.1/servers/s1/action failed",
      code: "502",
    });
  }
});

it("the error of a command is its output, without a code", async () => {
  expect(await failureOf(new Error("host one is already running"))).toEqual({
    ok: false,
    error: "host one is already running",
    code: null,
  });
});
