import { normalizeRoutes } from "../../network/l3/extra-routes.js";
import { type ExtraRoute, type GatewayInfo, ROUTERS } from "../../network/resources/routers.js";
import { where } from "../../resources/condition.js";
import { fieldChanges, withoutDefaults } from "../change.js";
import { forKey } from "../database-copy.js";
import type { RouterText } from "./network-seed-schema.js";
import {
  addInterface,
  connectedSubnets,
  findExternalNetwork,
  findSubnet,
  networkName,
  removeInterface,
  subnetPaths,
} from "./router-interfaces.js";
import { DEFAULT_OWNER, required, type SeedEdit, type View } from "./seed-edit.js";

/** The current attributes of a router in the form of a file. */
interface RouterFields {
  readonly description: string;
  readonly external_network: string | undefined;
  readonly subnets: readonly string[];
  readonly routes: readonly ExtraRoute[];
}

/** Deletes the file's routers that it no longer has. */
export function removeRouters(edit: SeedEdit, desired: readonly RouterText[]): void {
  for (const router of edit.fromFile(ROUTERS).filter((view) => !edit.includes(desired, view))) {
    const label = edit.label("router", router);
    forKey(`routers: ${label} is not in the file, but cannot be deleted`, () => {
      edit.records.send("PUT", `routers/${router.id}`, { router: { routes: [] } });
      for (const subnetId of connectedSubnets(edit, router.id)) {
        removeInterface(edit, router.id, subnetId);
      }
      edit.records.send("DELETE", `routers/${router.id}`);
    });
    edit.report("-", label, true);
  }
}

/**
 * Reports the changes of existing routers, and disconnects them from networks that the file no longer connects them to.
 * Those networks can then be deleted.
 */
export function disconnectRouters(edit: SeedEdit, desired: readonly RouterText[]): void {
  for (const [index, text] of desired.entries()) {
    forKey(`routers.${index} (${text.name})`, () => {
      const router = edit.find(ROUTERS, text);
      if (router !== undefined) {
        edit.reportChanges(edit.label("router", router), router.id, changesOf(edit, router, text));
        disconnect(edit, router, text);
      }
    });
  }
}

function changesOf(edit: SeedEdit, router: View, text: RouterText): readonly string[] {
  const now = readRouter(edit, router);
  const subnets = text.subnets ?? now.subnets;
  const ids = new Set(subnets.map((path) => findSubnet(edit, path, String(router.project_id))));
  const connected = connectedSubnets(edit, router.id);
  const isSame = ids.size === connected.length && connected.every((id) => ids.has(id));
  const after = {
    description: text.description ?? "",
    external_network: text.external_network,
    subnets: isSame ? now.subnets : subnets,
    routes: text.routes === undefined ? now.routes : normalizeRoutes(text.routes),
  };
  return fieldChanges({ ...now }, after);
}

function disconnect(edit: SeedEdit, router: View, text: RouterText): void {
  const now = readRouter(edit, router);
  const path = `routers/${router.id}`;
  if (text.routes !== undefined) {
    const remaining = new Set(text.routes.map(({ destination, nexthop }) => `${destination} ${nexthop}`));
    const routes = now.routes.filter(({ destination, nexthop }) => remaining.has(`${destination} ${nexthop}`));
    edit.records.send("PUT", path, { router: { routes } });
  }
  const ids = text.subnets?.map((name) => findSubnet(edit, name, String(router.project_id)));
  for (const id of ids === undefined ? [] : connectedSubnets(edit, router.id)) {
    if (!ids?.includes(id)) {
      removeInterface(edit, router.id, id);
    }
  }
  if (now.external_network !== undefined && now.external_network !== text.external_network) {
    edit.records.send("PUT", path, { router: { external_gateway_info: {} } });
  }
}

/** Creates routers, and connects all to the networks of the file, which exist now. */
export function connectRouters(edit: SeedEdit, desired: readonly RouterText[]): void {
  for (const [index, text] of desired.entries()) {
    forKey(`routers.${index} (${text.name})`, () =>
      connect(edit, edit.find(ROUTERS, text) ?? create(edit, text), text),
    );
  }
}

function create(edit: SeedEdit, { name, project = DEFAULT_OWNER, description = "" }: RouterText): View {
  const router = { name, description, project_id: edit.projects.idOf(project) };
  const view = edit.records.send("POST", "routers", { router }) as View;
  edit.records.markAsFromFile(view.id);
  edit.report("+", edit.label("router", view));
  return view;
}

function connect(edit: SeedEdit, router: View, { subnets = [], ...text }: RouterText): void {
  const now = readRouter(edit, router);
  const { description = "", external_network: external, routes } = text;
  const connected = connectedSubnets(edit, router.id);
  const ids = subnets.map((path) =>
    required(findSubnet(edit, path, String(router.project_id)), `there is no subnet ${path}`),
  );
  if (external !== undefined && external !== now.external_network) {
    const gateway = { network_id: findExternalNetwork(edit, external) };
    edit.records.send("PUT", `routers/${router.id}`, { router: { external_gateway_info: gateway } });
  }
  for (const id of ids.filter((one) => !connected.includes(one))) {
    addInterface(edit, router.id, id);
  }
  const changes = {
    ...(description !== now.description && { description }),
    ...(routes !== undefined && { routes }),
  };
  if (Object.keys(changes).length > 0) {
    edit.records.send("PUT", `routers/${router.id}`, { router: changes });
  }
}

function readRouter(edit: SeedEdit, { id, project_id: projectId }: View): RouterFields {
  const [view] = edit.views(ROUTERS, where`id = ${id}`);
  const gateway = (view?.external_gateway_info ?? null) as GatewayInfo | null;
  return {
    description: String(view?.description ?? ""),
    external_network: gateway === null ? undefined : networkName(edit, gateway.network_id),
    subnets: subnetPaths(edit, connectedSubnets(edit, id), String(projectId)),
    routes: normalizeRoutes((view?.routes ?? []) as readonly ExtraRoute[]),
  };
}

export function exportRouters(edit: SeedEdit): RouterText[] {
  return edit.fromFile(ROUTERS).map((view) => ({
    name: String(view.name),
    ...edit.ownerOf(view),
    ...(withoutDefaults(readRouter(edit, view), { description: "", routes: [] }) as Partial<RouterText>),
  }));
}
