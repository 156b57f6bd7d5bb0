import { quoted } from "../../control-plane/identity/openrc.js";
import type { FindingRow } from "../wire/rows.js";

/** The meaning of a finding, and the commands that repair it. */
type Repair = Pick<FindingRow, "explanation" | "commands">;

/** The explanations and repairs of findings. */
export class Repairs {
  readonly #cluster: string;

  /** @param cluster option of commands that selects the cluster, such as ` --name ci-7`; "" for the default cluster */
  constructor(cluster: string) {
    this.#cluster = cluster;
  }

  /** Returns the repair of a guest of a server that was evacuated from this host. */
  evacuatedGuest(host: string): Repair {
    return {
      explanation:
        "The server was rebuilt on another host while this host was down. When the agent of this host starts, it removes " +
        "the guest and the allocations. Until then two guests write to the same volumes if both run.",
      commands: [`compute-agent host start ${quoted(host)}${this.#cluster}`],
    };
  }

  /** Returns the repair of a guest that no move explains. */
  staleGuest(uuid: string): Repair {
    return {
      explanation:
        "A hypervisor runs a guest of a server that Compute records elsewhere. No API removes only the guest, since it may " +
        "be the only copy of the disk. Find out what started it. Deleting the server removes both guests.",
      commands: [`openstack server event list ${quoted(uuid)}`],
    };
  }

  guestWithoutServer(host: string): Repair {
    return {
      explanation:
        "A hypervisor has a guest that Compute does not know. The agent removes guests of deleted servers periodically " +
        "(running_deleted_instance_action). Any other guest does not belong to Nova.",
      commands: [`compute-agent host start ${quoted(host)}${this.#cluster}`],
    };
  }

  serverWithoutGuest(uuid: string): Repair {
    return {
      explanation:
        "Compute records the server on this host, but its hypervisor has no such guest. A hard reboot creates the guest " +
        "again. The agent must be up.",
      commands: [`openstack server reboot --hard ${quoted(uuid)}`],
    };
  }

  /** Returns the repair of wrong allocations of a consumer. */
  allocations(uuid: string, explanation: string): Repair {
    return {
      explanation,
      commands: [
        `compute-agent audit --plan plan.json${this.#cluster}`,
        `compute-agent apply plan.json --only ${quoted(uuid)}${this.#cluster}`,
      ],
    };
  }

  missingAllocations(uuid: string): Repair {
    return {
      explanation:
        "Placement counts the resources of the server as free, so the scheduler may give them to another server. " +
        "heal_allocations writes the allocations of its flavor.",
      commands: [`compute-agent manage placement heal_allocations --instance ${quoted(uuid)}${this.#cluster}`],
    };
  }
}
