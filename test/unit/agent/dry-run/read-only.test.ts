import { expect, test } from "vitest";
import { readOnlyHttp, readOnlySession } from "../../../../src/agent/dry-run/read-only-view.js";
import { CONDUCTOR_METHODS, type ConductorMethod } from "../../../../src/conductor-client/methods/conductor.js";
import type { HostSession } from "../../../../src/conductor-client/port.js";
import type { HttpClient, HttpRequest } from "../../../../src/runtime/http.js";

test("a dry run asks the conductor for what it reads, and for nothing that changes anything", async () => {
  const calls: string[] = [];
  const session = {
    call: async (method: string) => {
      calls.push(method);
    },
  } as unknown as HostSession;
  const readOnly = readOnlySession(session);
  const rejected: string[] = [];
  for (const method of Object.keys(CONDUCTOR_METHODS) as ConductorMethod[]) {
    await readOnly.call(method, {} as never).catch(() => rejected.push(method));
  }
  const changing = [
    /^block_device_(save|destroy)$/,
    /^(service|compute_node|migration)_(create|update_version|report_state|disable|save|destroy)$/,
    /^instance_(save|destroy|add_fault|action_event_start|action_event_finish)$/,
    /^(save_together|build_instances|delete_instance|migrate_server|online_data_migrations|stop_instance)$/,
    /^(report_bridges|sync_instance_info|vifs_plugged|usage_audit_begin|usage_audit_end|ironic_compute_node_move)$/,
  ];
  expect(rejected.sort()).toEqual(
    Object.keys(CONDUCTOR_METHODS)
      .filter((method) => changing.some((pattern) => pattern.test(method)))
      .sort(),
  );
  expect(calls).toContain("instance_get");
  expect(calls).toContain("placement_access");
  expect(calls.length + rejected.length).toBe(Object.keys(CONDUCTOR_METHODS).length);
});

test("a dry run may log in, and otherwise only read, where a hypervisor is a service", async () => {
  const sent: string[] = [];
  const http = readOnlyHttp({
    request: async ({ method, url }: HttpRequest) => {
      sent.push(`${method} ${url}`);
      return { status: 200, headers: {}, body: "" };
    },
    close: async () => {},
  } satisfies HttpClient);
  const allowed: [HttpRequest["method"], string][] = [
    ["GET", "http://ironic/v1/nodes"],
    ["POST", "http://keystone/v3/auth/tokens"],
    ["POST", "http://keystone/identity/v3/auth/tokens?nocatalog"],
  ];
  const changing: [HttpRequest["method"], string][] = [
    ["POST", "http://ironic/v1/nodes"],
    ["POST", "http://keystone/v3/users"],
    ["PUT", "http://ironic/v1/nodes/1/states/power"],
    ["DELETE", "http://keystone/v3/auth/tokens"],
    ["POST", "http://ironic/v1/nodes?from=/v3/auth/tokens"],
  ];
  for (const [method, url] of allowed) {
    await http.request({ method, url });
  }
  for (const [method, url] of changing) {
    await expect(http.request({ method, url })).rejects.toThrow(
      `a dry run changes nothing; rejected: ${method} ${url}`,
    );
  }
  expect(sent).toEqual(allowed.map(([method, url]) => `${method} ${url}`));
});
