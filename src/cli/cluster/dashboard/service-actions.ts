import type { RunnableAction } from "../../../dashboard/actions/action.js";
import type { ActionField, DashboardAction } from "../../../dashboard/wire/actions.js";
import type { AskCompute } from "./server-actions.js";

const HOST: ActionField = { name: "host", label: "Host", type: "host", required: true };
const DEST: ActionField = { name: "dest", label: "To host", type: "host", required: false };

/** What operators ask of the Compute API about hosts. */
export function createServiceActions(ask: AskCompute): readonly RunnableAction[] {
  const setService = async (host: unknown, changes: unknown): Promise<void> => {
    const query = `host=${encodeURIComponent(String(host))}&binary=nova-compute`;
    const { services } = (await ask("GET", `/os-services?${query}`)) as {
      readonly services: { readonly id: string }[];
    };
    const [service] = services;
    if (service === undefined) {
      throw new Error(`host ${host} has no service nova-compute`);
    }
    await ask("PUT", `/os-services/${service.id}`, changes);
  };
  const service = (
    about: Pick<DashboardAction, "name" | "label" | "summary"> & Partial<DashboardAction>,
    command: string,
    changes: unknown,
  ): RunnableAction => ({
    action: { subject: "host", destructive: false, fields: [HOST], commands: [command], ...about },
    run: async ({ host }) => {
      await setService(host, changes);
      return {};
    },
  });
  return [
    service(
      {
        name: "fence",
        label: "Fence",
        summary: "Says that the host is down, whatever its agent says",
        destructive: true,
      },
      "openstack compute service set --down {host} nova-compute",
      { forced_down: true },
    ),
    service(
      { name: "unfence", label: "Unfence", summary: "Takes the fence away: its heartbeats count again" },
      "openstack compute service set --up {host} nova-compute",
      { forced_down: false },
    ),
    service(
      { name: "host-disable", label: "Disable", summary: "Has no further servers scheduled to the host" },
      "openstack compute service set --disable {host} nova-compute",
      { status: "disabled" },
    ),
    service(
      { name: "host-enable", label: "Enable", summary: "Has servers scheduled to the host again" },
      "openstack compute service set --enable {host} nova-compute",
      { status: "enabled" },
    ),
    {
      action: {
        name: "host-evacuate",
        label: "Fence and evacuate",
        summary: "Says that the host is down, and has all its servers built anew on other hosts",
        subject: "host",
        destructive: true,
        fields: [HOST, DEST],
        commands: [
          "openstack compute service set --down {host} nova-compute",
          "openstack server list --all-projects --host {host} -f value -c ID | " +
            "xargs -n 1 openstack --os-compute-api-version 2.90 server evacuate [--host {dest}]",
        ],
      },
      run: async ({ host, dest }) => {
        await setService(host, { forced_down: true });
        return { lines: await evacuateAll(ask, String(host), dest ? { host: dest } : {}) };
      },
    },
  ];
}

/** @returns what became of each server */
async function evacuateAll(ask: AskCompute, host: string, evacuate: unknown): Promise<readonly string[]> {
  const { servers } = (await ask("GET", `/servers?all_tenants=True&host=${encodeURIComponent(host)}`)) as {
    readonly servers: readonly { readonly id: string; readonly name: string }[];
  };
  const lines: string[] = [];
  for (const { id, name } of servers) {
    const failed = await ask("POST", `/servers/${id}/action`, { evacuate }).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    lines.push(`${name} (${id}): ${failed ?? "is being evacuated"}`);
  }
  return servers.length === 0 ? [`${host} has no servers`] : lines;
}
