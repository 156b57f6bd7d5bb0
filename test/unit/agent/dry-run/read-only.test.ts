import { expect, test } from "vitest";
import { readOnlySession } from "../../../../src/agent/dry-run/read-only.js";
import { CONDUCTOR_METHODS, type ConductorMethod } from "../../../../src/conductor/methods/conductor.js";
import type { HostSession } from "../../../../src/conductor/port.js";

test("a dry run asks the conductor for what it reads, and for nothing that changes anything", async () => {
  const asked: string[] = [];
  const session = {
    call: async (method: string) => {
      asked.push(method);
    },
  } as unknown as HostSession;
  const readOnly = readOnlySession(session);
  const refused: string[] = [];
  for (const method of Object.keys(CONDUCTOR_METHODS) as ConductorMethod[]) {
    await readOnly.call(method, {} as never).catch(() => refused.push(method));
  }
  const changing = [
    /^(service|compute_node|migration)_(create|update_version|report_state|save|destroy)$/,
    /^instance_(save|destroy|add_fault|action_event_start|action_event_finish)$/,
    /^(save_together|build_instances|delete_instance|migrate_server|online_data_migrations|stop_instance)$/,
    /^(sync_instance_info|ironic_compute_node_move)$/,
  ];
  expect(refused.sort()).toEqual(
    Object.keys(CONDUCTOR_METHODS)
      .filter((method) => changing.some((pattern) => pattern.test(method)))
      .sort(),
  );
  expect(asked).toContain("instance_get");
  expect(asked).toContain("placement_access");
  expect(asked.length + refused.length).toBe(Object.keys(CONDUCTOR_METHODS).length);
});
