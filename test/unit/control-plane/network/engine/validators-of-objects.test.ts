import { describe, expect, test } from "vitest";
import { VALIDATORS } from "../../../../../src/control-plane/network/engine/validators.js";
import { errorOf, UNEXPECTED_TYPE } from "./error-of.js";

const ID = "5f5e3a9e-1f3f-4a3a-9c41-8c6f6b0b3f11";
const OTHER = "5f5e3a9e-1f3f-4a3a-9c41-8c6f6b0b3f12";
const GATEWAY = {
  network_id: { "type:uuid": null, required: true },
  enable_snat: { "type:boolean": null, required: false, convert_to: "convert_to_boolean" },
};
const OPTIONS = [
  { opt_name: { "type:values": ["router"] }, opt_value: { "type:string_or_none": 255, required: true } },
  { opt_name: { "type:string": 64 }, ip_version: { convert_to: "convert_to_int", "type:values": [4, 6] } },
];
const subport = (port_id: string, segmentation_id: unknown, segmentation_type = "vlan") => ({
  port_id,
  segmentation_type,
  segmentation_id,
});
const KEYS_FAILED = "Validation of dictionary's keys failed.";
const NO_SEGMENTATION = "missing segmentation information. Must specify both segmentation_id and segmentation_type";
const TOO_MANY_PAIRS = "AllowedAddressPairExhausted The number of allowed address pair exceeds the maximum 10.";
const DUPLICATE_PAIR =
  "DuplicateAddressPairInRequest Request contains duplicate address pair: mac_address None ip_address ::1.";
const MISSING_ADDRESS = "AllowedAddressPairsMissingIP AllowedAddressPair must contain ip_address";
const INVALID = "InvalidInput Invalid input for operation:";

type Row = readonly [type: string, parameter: unknown, value: unknown];

describe("a valid object has no message", () => {
  test.each<Row>([
    ["dict_or_none", GATEWAY, null],
    ["dict_or_empty", GATEWAY, {}],
    ["dict_or_nodata", GATEWAY, []],
    ["list_of_any_key_specs_or_none", OPTIONS, null],
    ["list_of_any_key_specs_or_none", OPTIONS, [{ opt_name: "router", opt_value: null }]],
    ["allowed_address_pairs", null, [{ ip_address: "::1" }, { ip_address: "10.0.0.0/8", mac_address: "1:2:3:4:5:6" }]],
    ["network_segments", null, [{ "provider:network_type": "vlan" }]],
    ["availability_zone_hint_list", null, ["b".repeat(251)]],
    ["subports", null, [{ port_id: ID }, subport(OTHER, 5)]],
    ["subports", null, [subport(ID, null, "inherit"), "not checked"]],
  ])("%s %j: %j", (type, parameter, value) => {
    expect(VALIDATORS[`type:${type}`]?.(value, parameter)).toBeUndefined();
  });
});

describe("an invalid object has Neutron's message", () => {
  test.each<readonly [...Row, message: string]>([
    ["dict", null, [1], "'[1]' is not a dictionary"],
    ["dict", { a: { "type:nothing": null } }, { a: 1 }, "Validator 'type:nothing' does not exist"],
    ["dict_or_nodata", GATEWAY, { network_id: ID, b: 1, c: 2 }, "Unexpected keys supplied: b, c"],
    ["dict_or_nodata", GATEWAY, { a: 1 }, `${KEYS_FAILED} Expected keys: {'network_id'} Provided keys: {'a'}`],
    ["allowed_address_pairs", null, [5], "'5' is not a dictionary"],
    ["subports", null, 5, "Invalid data format for subports: '5' is not a list"],
    ["subports", null, [5], "Invalid data format for subport: '5' is not a dict"],
    ["subports", null, [{}], "A valid port UUID must be specified"],
    ["subports", null, [{ port_id: 5 }], "Invalid UUID for subport: '5'"],
    ["subports", null, [{ port_id: ID }, { port_id: ID }], `Non unique UUID for subport: '${ID}'`],
    [
      "subports",
      null,
      [{ port_id: ID, a: 5 }],
      `Invalid subport details '{'port_id': '${ID}', 'a': 5}': ${NO_SEGMENTATION}`,
    ],
    ["subports", null, [subport(ID, 1), subport(OTHER, true)], `Segmentation ID 'True' for '${OTHER}' is not unique`],
  ])("%s %j: %j", (type, parameter, value, message) => {
    expect(VALIDATORS[`type:${type}`]?.(value, parameter)).toBe(message);
  });
});

describe("an object that Neutron rejects with an exception is an error", () => {
  test.each<readonly [...Row, error: string]>([
    ["list_of_any_key_specs_or_none", OPTIONS, "x", `${INVALID} 'x' is not a list.`],
    ["list_of_any_key_specs_or_none", OPTIONS, [{ a: 1 }], `${INVALID} No valid key specs matched for: {'a': 1}.`],
    ["list_of_any_key_specs_or_none", OPTIONS, [{ ip_version: "x" }], `${INVALID} 'x' is not an integer.`],
    ["allowed_address_pairs", null, {}, "400 Allowed address pairs must be a list."],
    ["allowed_address_pairs", null, Array(11).fill({}), TOO_MANY_PAIRS],
    ["allowed_address_pairs", null, [{}], MISSING_ADDRESS],
    ["allowed_address_pairs", null, [{ mac_address: 5 }], "400 '5' is not a valid MAC address"],
    ["allowed_address_pairs", null, [{ ip_address: "::1" }, { ip_address: "::1" }], DUPLICATE_PAIR],
    ["allowed_address_pairs", null, [{ ip_address: "::1", a: 1 }], "400 Unrecognized attribute(s) 'a'"],
    ["allowed_address_pairs", null, [{ ip_address: "1/2/3" }], "400 '1/2/3' is not a valid IP subnet"],
    ["allowed_address_pairs", null, [{ ip_address: 5 }], UNEXPECTED_TYPE],
    ["network_segments", null, ["x"], UNEXPECTED_TYPE],
    ["subports", null, [subport(ID, [])], UNEXPECTED_TYPE],
    ["availability_zone_hint_list", null, ["é".repeat(43)], `${INVALID} Too many availability_zone_hints specified.`],
  ])("%s %j: %j", (type, parameter, value, error) => {
    expect(errorOf(() => VALIDATORS[`type:${type}`]?.(value, parameter))).toBe(error);
  });
});

test("members with a converter are converted", () => {
  const gateway = { network_id: ID, enable_snat: "no" };
  VALIDATORS["type:dict_or_nodata"]?.(gateway, GATEWAY);
  expect(gateway).toEqual({ network_id: ID, enable_snat: false });
  const segments = [{ "provider:segmentation_id": "5" }, { "provider:segmentation_id": 0 }];
  VALIDATORS["type:network_segments"]?.(segments, null);
  expect(segments).toEqual([{ "provider:segmentation_id": 5 }, {}]);
});
