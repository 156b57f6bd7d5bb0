import { badRequest, notFound } from "../../http/http-error.js";
import { routes } from "../../http/router.js";
import { notAcceptable } from "../ironic-error.js";
import { CONDUCTOR_HOST, NODE_FIELDS } from "../node-store.js";
import { hardwarePoint } from "../provision-states.js";
import {
  booleanArgument,
  type IronicCall,
  type IronicResponse,
  type IronicRoute,
  links,
  listArgument,
  onlyArguments,
} from "./call.js";
import { nodeOf } from "./node-routes.js";

const VALIDATED = "boot deploy management network power bios console inspect raid rescue storage".split(" ");

const HARDWARE_TYPE = "fake-hardware";

/** Interfaces of a hardware type in Ironic's order, with the first minor version that has each. */
const INTERFACES = {
  bios: 40,
  storage: 33,
  deploy: 30,
  console: 30,
  boot: 30,
  power: 30,
  inspect: 30,
  rescue: 38,
  management: 30,
  raid: 30,
  vendor: 30,
  network: 30,
} as const;

/** Routes of drivers, and those of a node that its driver handles. */
export const HARDWARE_ROUTES = routes<IronicRoute>({
  "GET /nodes/:node/validate": async (call) => {
    nodeOf(call);
    const reason = await call.faults.hit(hardwarePoint("validate")).then(
      () => undefined,
      (error: Error) => error.message,
    );
    const valid = VALIDATED.map((name) => [name, { result: true }]);
    const deploy = reason === undefined ? {} : { deploy: { result: false, reason } };
    return { body: { ...Object.fromEntries(valid), ...deploy } };
  },
  "GET /drivers": listDrivers,
  "GET /drivers/:driver": (call) => {
    onlyArguments(call.query, ["fields"]);
    const fields = fieldsArgument(call);
    const { driver = "" } = call.params;
    if (driver !== HARDWARE_TYPE) {
      throw notFound(`Could not find the following driver(s) or hardware type(s): ${driver}.`);
    }
    return { body: driverView(call, true, fields) };
  },
  "GET /drivers/:driver/properties": ({ params: { driver = "" } }) => {
    if (driver !== HARDWARE_TYPE) {
      throw notFound(`The driver '${driver}' is unknown.`);
    }
    // The fake interfaces require nothing in a node's driver_info.
    return { body: {} };
  },
});

function listDrivers(call: IronicCall): IronicResponse {
  const { query, minor } = call;
  onlyArguments(query, ["type", "detail", "fields"]);
  const detail = query.get("detail") === undefined ? undefined : booleanArgument("detail", query.get("detail"));
  const fields = listArgument(query.get("fields"));
  if (fields && fields.length > 0 && detail) {
    throw badRequest("Can not specify ?detail=True and fields in the same request.");
  }
  const type = query.get("type");
  if ((detail !== undefined || type !== undefined) && minor < 30) {
    throw notAcceptable(30);
  }
  fieldsArgument(call);
  if (type !== undefined && type !== "classic" && type !== "dynamic") {
    throw badRequest('"type" filter must be one of "classic" or "dynamic", if specified.');
  }
  return { body: { drivers: type === "classic" ? [] : [driverView(call, detail === true, fields)] } };
}

function fieldsArgument({ query, minor }: IronicCall): readonly string[] | undefined {
  const fields = listArgument(query.get("fields"));
  if (fields && minor < 77) {
    throw notAcceptable();
  }
  return fields;
}

/** @param isDetailed includes the interfaces @throws {HttpError} 400 for an unknown field */
function driverView({ root, minor }: IronicCall, isDetailed: boolean, fields: readonly string[] | undefined) {
  const view: Readonly<Record<string, unknown>> = {
    name: HARDWARE_TYPE,
    hosts: [CONDUCTOR_HOST],
    links: links(root, `drivers/${HARDWARE_TYPE}`),
    ...(minor >= 14 ? { properties: links(root, `drivers/${HARDWARE_TYPE}/properties`) } : {}),
    ...(minor >= 30 ? { type: "dynamic", ...(isDetailed ? interfacesView(minor) : {}) } : {}),
  };
  const unknown = fields?.find((name) => !Object.hasOwn(view, name));
  if (unknown !== undefined) {
    throw badRequest(`Field(s) "${unknown}" are not valid`);
  }
  const selected = Object.entries(view).filter(([name]) => !fields || fields.includes(name) || name === "links");
  return Object.fromEntries(selected);
}

function interfacesView(minor: number): Readonly<Record<string, unknown>> {
  const names = Object.keys(INTERFACES) as (keyof typeof INTERFACES)[];
  return Object.fromEntries(
    names
      .filter((name) => minor >= INTERFACES[name])
      .flatMap((name) => {
        const { initial } = NODE_FIELDS[`${name}_interface`];
        return [
          [`default_${name}_interface`, initial],
          [`enabled_${name}_interfaces`, [initial]],
        ];
      }),
  );
}
