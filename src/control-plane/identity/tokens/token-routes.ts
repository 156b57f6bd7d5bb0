import type { IdentityCall, IdentityResponse, IdentityRoute } from "../api/identity-call.js";
import { expecting, IdentityError } from "../api/identity-error.js";
import { catalogOf } from "../catalog/catalog.js";
import { authenticate } from "./authenticate.js";
import type { LiveToken } from "./live-tokens.js";
import { readTokenRequest } from "./token-request.js";
import { tokenView } from "./token-view.js";

async function issueToken(call: IdentityCall): Promise<IdentityResponse> {
  if (call.request.body === "") {
    throw expecting("auth", "request body");
  }
  const { services } = call;
  const { token, live } = await authenticate(services, readTokenRequest(call.json()), services.clock.now());
  return tokenResponse(call, token, live, 201);
}

function tokenResponse(call: IdentityCall, token: string, live: LiveToken, status: number): IdentityResponse {
  const catalog = call.query.get("nocatalog") === undefined ? catalogOf(call, live) : undefined;
  return { status, headers: { "x-subject-token": token }, body: tokenView(call.store, live, catalog) };
}

/** The token that the request is about. @throws {IdentityError} 401, 403, 404 */
function subject(call: IdentityCall, rule: string): { readonly token: string; readonly live: LiveToken } {
  const token = call.request.headers["x-subject-token"] ?? "";
  const live = call.services.live.find(token);
  // A token that is not there is nobody's: who asks of it is told so.
  call.enforce(rule, { "target.token.user_id": live?.user.id ?? call.token.user.id });
  if (!live) {
    throw new IdentityError(404, token === "" ? "No token in the request" : "Failed to validate token");
  }
  return { token, live };
}

function showToken(call: IdentityCall): IdentityResponse {
  const { token, live } = subject(call, "identity:validate_token");
  return tokenResponse(call, token, live, 200);
}

function revokeToken(call: IdentityCall): IdentityResponse {
  call.services.tokens.revoke(subject(call, "identity:revoke_token").token);
  return { status: 204 };
}

export const TOKEN_ROUTES: readonly IdentityRoute[] = [
  { method: "POST", path: "/v3/auth/tokens", handle: issueToken },
  { method: "GET", path: "/v3/auth/tokens", handle: showToken },
  { method: "DELETE", path: "/v3/auth/tokens", handle: revokeToken },
];
