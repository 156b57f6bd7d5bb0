import { readJson } from "../http/read-json.js";
import { authenticate } from "./authenticate.js";
import { caller, catalogOf, type IdentityAnswer, type IdentityCall, type IdentityRoute } from "./identity-call.js";
import { expecting, forbidden, IdentityError } from "./identity-error.js";
import { readTokenRequest } from "./token-request.js";
import type { TokenRecord } from "./token-store.js";
import { tokenRoles, tokenView } from "./token-view.js";

function issueToken(call: IdentityCall): IdentityAnswer {
  const body = readJson(call.request);
  if (body.kind === "too-large") {
    throw new IdentityError(413, "Request is too large.");
  }
  if (body.kind === "empty") {
    throw expecting("auth", "request body");
  }
  if (body.kind !== "json") {
    throw expecting("valid JSON", "request body");
  }
  const { token, record } = authenticate(call.services, readTokenRequest(body.value));
  return tokenAnswer(call, token, record, 201);
}

function tokenAnswer(call: IdentityCall, token: string, record: TokenRecord, status: number): IdentityAnswer {
  const catalog = call.query.get("nocatalog") === undefined ? catalogOf(call) : undefined;
  const body = tokenView(call.services.directory, record, catalog);
  return { status, headers: { "x-subject-token": token }, body };
}

/** The token that the request is about; its own holder, an administrator and services may ask. */
function subject(call: IdentityCall, rule: string): { readonly token: string; readonly record: TokenRecord } {
  const { tokens, directory } = call.services;
  const asking = caller(call);
  const token = call.request.headers["x-subject-token"] ?? "";
  const record = tokens.find(token);
  const powerful = tokenRoles(directory, asking).some(({ name }) => name === "admin" || name === "service");
  if (record && !powerful && record.userId !== asking.userId) {
    throw forbidden(rule);
  }
  if (!record) {
    throw new IdentityError(404, "Failed to validate token");
  }
  return { token, record };
}

function showToken(call: IdentityCall): IdentityAnswer {
  const { token, record } = subject(call, "identity:validate_token");
  return tokenAnswer(call, token, record, 200);
}

function revokeToken(call: IdentityCall): IdentityAnswer {
  call.services.tokens.revoke(subject(call, "identity:revoke_token").token);
  return { status: 204 };
}

export const TOKEN_ROUTES: readonly IdentityRoute[] = [
  { method: "POST", path: "/v3/auth/tokens", answer: issueToken },
  { method: "GET", path: "/v3/auth/tokens", answer: showToken },
  { method: "DELETE", path: "/v3/auth/tokens", answer: revokeToken },
];
