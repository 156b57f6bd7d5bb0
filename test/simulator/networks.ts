import type { Dice } from "../chaos/dice.js";
import { changeNetworks, type DrawnNetworks, drawNetworks, type NetworkUser } from "../chaos/network-operations.js";
import { act, type Stage } from "./actors.js";

/** Draws the networks of a new server; none in clouds whose servers have no ports. */
export async function drawNetworksOf(stage: Stage): Promise<DrawnNetworks> {
  const { cluster, dice } = stage;
  // Drawn separately, so that the other choices of the step are those of a cloud without networks.
  return cluster.plan.deployment.networks === true ? drawNetworks(userOf(stage, dice.of("networks"))) : "none";
}

export function changeNetwork(stage: Stage): Promise<void> {
  return changeNetworks(userOf(stage, stage.dice));
}

function userOf(stage: Stage, dice: Dice): NetworkUser {
  const { client } = stage;
  return {
    dice,
    list: async (service, path, collection) => {
      const response = await client[service]("GET", path);
      return response?.status === 200 ? Object.values(response.body[collection] ?? {}) : [];
    },
    act: async (operation, request, server) => {
      await act(stage, operation, request, server);
    },
  };
}
