import { type Instance, type Migration, UNFINISHED_MIGRATION_STATUSES } from "../../records/index.js";
import { HttpError } from "../http/http-error.js";
import type { ServerPorts } from "../network/server-ports.js";
import type { Store } from "../store/store.js";
import type { StoreFollower } from "../store/store-context.js";

/** Moves whose destination connects the guest before the server's record names it as its host. */
const WITH_SECOND_BINDING: readonly Migration["migrationType"][] = ["live-migration", "evacuation"];

/**
 * Keeps the bindings of a server's ports equal to its host and to the destinations of its moves, in the transaction that
 * changes those: the two cannot differ, whichever operation fails or is killed.
 */
export function followServers(store: Store, ports: ServerPorts): StoreFollower {
  return {
    instanceSaved: (instance, before) => {
      if (before === null) {
        return;
      }
      const { uuid, host } = instance;
      if (hasFailedToBuild(instance, before)) {
        ports.release(uuid);
      } else if (host !== before.host) {
        bindToHost(uuid, host);
      }
    },
    instanceDestroyed: ({ uuid }) => ports.release(uuid),
    migrationSaved: (migration, before) => {
      const isChanged = migration.status !== before?.status || migration.destCompute !== before.destCompute;
      if (isChanged && WITH_SECOND_BINDING.includes(migration.migrationType)) {
        followMove(migration, before);
      }
    },
  };

  function bindToHost(uuid: string, host: string | null): void {
    if (host === null) {
      ports.unbind(uuid);
    } else {
      ports.bind(uuid, host);
      // A move that goes on has its destination bound a second time.
      for (const { destCompute } of movesOf(uuid)) {
        addBinding(uuid, host, destCompute);
      }
    }
  }

  /**
   * The change of the server's host activates the destination's bindings. If the server has left the destination again
   * when the move ends, its bindings there have no use, as after a failure.
   */
  function followMove({ instanceUuid, status, destCompute }: Migration, before: Migration | null): void {
    const instance = store.instances.get(instanceUuid);
    if (instance === null) {
      return;
    }
    if (before !== null && before.destCompute !== null && before.destCompute !== destCompute) {
      removeBinding(instance, before.destCompute);
    }
    if (UNFINISHED_MIGRATION_STATUSES.includes(status)) {
      addBinding(instanceUuid, instance.host, destCompute);
    } else if (destCompute !== null) {
      removeBinding(instance, destCompute);
    }
  }

  function addBinding(uuid: string, host: string | null, destination: string | null): void {
    if (destination === null || destination === host) {
      return;
    }
    try {
      ports.addBinding(uuid, destination);
    } catch (error) {
      // Without a binding, the destination's report of plugged ports does not count, and the move fails there.
      if (!(error instanceof HttpError && error.code === "PortBindingError")) {
        throw error;
      }
    }
  }

  function removeBinding({ uuid, host }: Instance, destination: string): void {
    const isInvolved = host === destination || movesOf(uuid).some(({ destCompute }) => destCompute === destination);
    if (!isInvolved) {
      ports.removeBinding(uuid, destination);
    }
  }

  function movesOf(instanceUuid: string): readonly Migration[] {
    return store.migrations.byFilters({
      instanceUuid,
      migrationTypes: WITH_SECOND_BINDING,
      statuses: UNFINISHED_MIGRATION_STATUSES,
    });
  }
}

/** A server that no host could build has no ports. */
function hasFailedToBuild(instance: Instance, before: Instance): boolean {
  return instance.vmState === "error" && before.vmState === "building" && instance.host === null;
}
