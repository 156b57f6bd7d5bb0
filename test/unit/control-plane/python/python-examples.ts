import type { Schema } from "../../../../src/control-plane/http/schemas.js";

/** Recorded output of CPython 3.11. */

/** A JSON text and the message of `json.loads`; null if it is valid. */
export const JSON_ERRORS: readonly (readonly [text: string, message: string | null])[] = [
  ["", "Expecting value: line 1 column 1 (char 0)"],
  ["{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"],
  ["[", "Expecting value: line 1 column 2 (char 1)"],
  ['{"a"', "Expecting ':' delimiter: line 1 column 5 (char 4)"],
  ['{"a":', "Expecting value: line 1 column 6 (char 5)"],
  ['{"a":1', "Expecting ',' delimiter: line 1 column 7 (char 6)"],
  ['{"a":1,', "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)"],
  ['{"a":1,}', "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)"],
  ["[1,", "Expecting value: line 1 column 4 (char 3)"],
  ["[1,]", "Expecting value: line 1 column 4 (char 3)"],
  ["[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"],
  ['{"a" 1}', "Expecting ':' delimiter: line 1 column 6 (char 5)"],
  ["{a:1}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"],
  ["{'a':1}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"],
  ["nul", "Expecting value: line 1 column 1 (char 0)"],
  ["tru", "Expecting value: line 1 column 1 (char 0)"],
  ['"abc', "Unterminated string starting at: line 1 column 1 (char 0)"],
  ['"a\nb"', "Invalid control character at: line 1 column 3 (char 2)"],
  ['"\\x"', "Invalid \\escape: line 1 column 2 (char 1)"],
  ['"\\u12g4"', "Invalid \\uXXXX escape: line 1 column 3 (char 2)"],
  ["1 2", "Extra data: line 1 column 3 (char 2)"],
  ['{"a":1} x', "Extra data: line 1 column 9 (char 8)"],
  ["01", "Extra data: line 1 column 2 (char 1)"],
  ["-", "Expecting value: line 1 column 1 (char 0)"],
  ["+1", "Expecting value: line 1 column 1 (char 0)"],
  ["1.", "Extra data: line 1 column 2 (char 1)"],
  [".5", "Expecting value: line 1 column 1 (char 0)"],
  ["[1,\n2,\n x]", "Expecting value: line 3 column 2 (char 8)"],
  ['\n\n{"a": b}', "Expecting value: line 3 column 7 (char 8)"],
  ["NaNx", "Extra data: line 1 column 4 (char 3)"],
  ['{"a":[1,{"b":"\\u00e9"}]}}', "Extra data: line 1 column 25 (char 24)"],
  ['"\t"', "Invalid control character at: line 1 column 2 (char 1)"],
];

/** A JSON text, `repr` of its value, and `pprint.pformat` with a width of 72. */
export const REPRESENTATIONS: readonly (readonly [text: string, repr: string, pformat: string])[] = [
  ["null", "None", "None"],
  ["true", "True", "True"],
  ["false", "False", "False"],
  ["0", "0", "0"],
  ["-1", "-1", "-1"],
  ["1.0", "1.0", "1.0"],
  ["1.5", "1.5", "1.5"],
  ["1e40", "1e+40", "1e+40"],
  ["1e16", "1e+16", "1e+16"],
  ["123456789012345678", "123456789012345678", "123456789012345678"],
  ["0.0001", "0.0001", "0.0001"],
  ["0.00001", "1e-05", "1e-05"],
  ["-0.0", "-0.0", "-0.0"],
  ['"a"', "'a'", "'a'"],
  ['"it\'s"', '"it\'s"', '"it\'s"'],
  ['"\\"q\\" it\'s"', "'\"q\" it\\'s'", "'\"q\" it\\'s'"],
  ['"a\\nb\\t\\\\"', "'a\\nb\\t\\\\'", "'a\\nb\\t\\\\'"],
  ['"\\u0007\\u00e9\\u20ac\\ud83d\\ude00\\u200b\\u00a0"', "'\\x07é€😀\\u200b\\xa0'", "'\\x07é€😀\\u200b\\xa0'"],
  ["[]", "[]", "[]"],
  ["{}", "{}", "{}"],
  [
    '[1, [2, {"b": 1, "a": [null, true]}]]',
    "[1, [2, {'b': 1, 'a': [None, True]}]]",
    "[1, [2, {'a': [None, True], 'b': 1}]]",
  ],
  ['{"b": 1, "a": 2}', "{'b': 1, 'a': 2}", "{'a': 2, 'b': 1}"],
  [
    '["long long long long long ","other other other other other other other other other other other other other other ","x"]',
    "['long long long long long ', 'other other other other other other other other other other other other other other ', 'x']",
    "['long long long long long ',\n 'other other other other other other other other other other other '\n 'other other other ',\n 'x']",
  ],
  [
    '{"key": "some words that go on and on some words that go on and on some words that go on and on some words that go on and on some words that go on and on some words that go on and on "}',
    "{'key': 'some words that go on and on some words that go on and on some words that go on and on some words that go on and on some words that go on and on some words that go on and on '}",
    "{'key': 'some words that go on and on some words that go on and on '\n        'some words that go on and on some words that go on and on '\n        'some words that go on and on some words that go on and on '}",
  ],
  [
    '{"a": {"b": {"c": ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 1234567]}}}',
    "{'a': {'b': {'c': ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', 1234567]}}}",
    "{'a': {'b': {'c': ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',\n                   'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',\n                   1234567]}}}",
  ],
  [
    '"text without end text without end text without end text without end text without end text without end text without end text without end "',
    "'text without end text without end text without end text without end text without end text without end text without end text without end '",
    "('text without end text without end text without end text without end '\n 'text without end text without end text without end text without end ')",
  ],
  [
    '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"',
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
  ],
  [
    '["line one is here\\nline one is here\\nline one is here\\nline one is here\\nline one is here\\nline one is here\\n"]',
    "['line one is here\\nline one is here\\nline one is here\\nline one is here\\nline one is here\\nline one is here\\n']",
    "['line one is here\\n'\n 'line one is here\\n'\n 'line one is here\\n'\n 'line one is here\\n'\n 'line one is here\\n'\n 'line one is here\\n']",
  ],
];

/** A schema, a JSON text, and `str` of the error of jsonschema 4.10; null if it is valid. */
export const VALIDATIONS: readonly (readonly [schema: Schema, text: string, message: string | null])[] = [
  [
    {
      type: "object",
      properties: {
        total: { type: "integer", maximum: 2147483647, minimum: 1 },
        ratio: { type: "number", maximum: 3.40282e38 },
      },
      required: ["total"],
      additionalProperties: false,
    },
    "{}",
    "'total' is a required property\n\nFailed validating 'required' in schema:\n    {'additionalProperties': False,\n     'properties': {'ratio': {'maximum': 3.40282e+38, 'type': 'number'},\n                    'total': {'maximum': 2147483647,\n                              'minimum': 1,\n                              'type': 'integer'}},\n     'required': ['total'],\n     'type': 'object'}\n\nOn instance:\n    {}",
  ],
  [
    {
      type: "object",
      properties: {
        total: { type: "integer", maximum: 2147483647, minimum: 1 },
        ratio: { type: "number", maximum: 3.40282e38 },
      },
      required: ["total"],
      additionalProperties: false,
    },
    "[]",
    "[] is not of type 'object'\n\nFailed validating 'type' in schema:\n    {'additionalProperties': False,\n     'properties': {'ratio': {'maximum': 3.40282e+38, 'type': 'number'},\n                    'total': {'maximum': 2147483647,\n                              'minimum': 1,\n                              'type': 'integer'}},\n     'required': ['total'],\n     'type': 'object'}\n\nOn instance:\n    []",
  ],
  [
    {
      type: "object",
      properties: {
        total: { type: "integer", maximum: 2147483647, minimum: 1 },
        ratio: { type: "number", maximum: 3.40282e38 },
      },
      required: ["total"],
      additionalProperties: false,
    },
    '{"total": 0}',
    "0 is less than the minimum of 1\n\nFailed validating 'minimum' in schema['properties']['total']:\n    {'maximum': 2147483647, 'minimum': 1, 'type': 'integer'}\n\nOn instance['total']:\n    0",
  ],
  [
    {
      type: "object",
      properties: {
        total: { type: "integer", maximum: 2147483647, minimum: 1 },
        ratio: { type: "number", maximum: 3.40282e38 },
      },
      required: ["total"],
      additionalProperties: false,
    },
    '{"total": true}',
    "True is not of type 'integer'\n\nFailed validating 'type' in schema['properties']['total']:\n    {'maximum': 2147483647, 'minimum': 1, 'type': 'integer'}\n\nOn instance['total']:\n    True",
  ],
  [
    {
      type: "object",
      properties: {
        total: { type: "integer", maximum: 2147483647, minimum: 1 },
        ratio: { type: "number", maximum: 3.40282e38 },
      },
      required: ["total"],
      additionalProperties: false,
    },
    '{"total": 4.5}',
    "4.5 is not of type 'integer'\n\nFailed validating 'type' in schema['properties']['total']:\n    {'maximum': 2147483647, 'minimum': 1, 'type': 'integer'}\n\nOn instance['total']:\n    4.5",
  ],
  [
    {
      type: "object",
      properties: {
        total: { type: "integer", maximum: 2147483647, minimum: 1 },
        ratio: { type: "number", maximum: 3.40282e38 },
      },
      required: ["total"],
      additionalProperties: false,
    },
    '{"total": 1e40}',
    "1e+40 is greater than the maximum of 2147483647\n\nFailed validating 'maximum' in schema['properties']['total']:\n    {'maximum': 2147483647, 'minimum': 1, 'type': 'integer'}\n\nOn instance['total']:\n    1e+40",
  ],
  [
    {
      type: "object",
      properties: {
        total: { type: "integer", maximum: 2147483647, minimum: 1 },
        ratio: { type: "number", maximum: 3.40282e38 },
      },
      required: ["total"],
      additionalProperties: false,
    },
    '{"total": 99999999999999999999}',
    "99999999999999999999 is greater than the maximum of 2147483647\n\nFailed validating 'maximum' in schema['properties']['total']:\n    {'maximum': 2147483647, 'minimum': 1, 'type': 'integer'}\n\nOn instance['total']:\n    99999999999999999999",
  ],
  [
    {
      type: "object",
      properties: {
        total: { type: "integer", maximum: 2147483647, minimum: 1 },
        ratio: { type: "number", maximum: 3.40282e38 },
      },
      required: ["total"],
      additionalProperties: false,
    },
    '{"total": 1, "x": 1, "a": 2}',
    "Additional properties are not allowed ('a', 'x' were unexpected)\n\nFailed validating 'additionalProperties' in schema:\n    {'additionalProperties': False,\n     'properties': {'ratio': {'maximum': 3.40282e+38, 'type': 'number'},\n                    'total': {'maximum': 2147483647,\n                              'minimum': 1,\n                              'type': 'integer'}},\n     'required': ['total'],\n     'type': 'object'}\n\nOn instance:\n    {'a': 2, 'total': 1, 'x': 1}",
  ],
  [
    {
      type: "object",
      properties: {
        total: { type: "integer", maximum: 2147483647, minimum: 1 },
        ratio: { type: "number", maximum: 3.40282e38 },
      },
      required: ["total"],
      additionalProperties: false,
    },
    '{"ratio": 1e39, "total": "x"}',
    "'x' is not of type 'integer'\n\nFailed validating 'type' in schema['properties']['total']:\n    {'maximum': 2147483647, 'minimum': 1, 'type': 'integer'}\n\nOn instance['total']:\n    'x'",
  ],
  [
    {
      type: "object",
      properties: {
        total: { type: "integer", maximum: 2147483647, minimum: 1 },
        ratio: { type: "number", maximum: 3.40282e38 },
      },
      required: ["total"],
      additionalProperties: false,
    },
    '{"total": "x", "z": 1}',
    "Additional properties are not allowed ('z' was unexpected)\n\nFailed validating 'additionalProperties' in schema:\n    {'additionalProperties': False,\n     'properties': {'ratio': {'maximum': 3.40282e+38, 'type': 'number'},\n                    'total': {'maximum': 2147483647,\n                              'minimum': 1,\n                              'type': 'integer'}},\n     'required': ['total'],\n     'type': 'object'}\n\nOn instance:\n    {'total': 'x', 'z': 1}",
  ],
  [
    {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 3, pattern: "^[A-Z]+$" },
      minItems: 1,
      uniqueItems: true,
    },
    "[]",
    "[] is too short\n\nFailed validating 'minItems' in schema:\n    {'items': {'maxLength': 3,\n               'minLength': 1,\n               'pattern': '^[A-Z]+$',\n               'type': 'string'},\n     'minItems': 1,\n     'type': 'array',\n     'uniqueItems': True}\n\nOn instance:\n    []",
  ],
  [
    {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 3, pattern: "^[A-Z]+$" },
      minItems: 1,
      uniqueItems: true,
    },
    '["A","A"]',
    "['A', 'A'] has non-unique elements\n\nFailed validating 'uniqueItems' in schema:\n    {'items': {'maxLength': 3,\n               'minLength': 1,\n               'pattern': '^[A-Z]+$',\n               'type': 'string'},\n     'minItems': 1,\n     'type': 'array',\n     'uniqueItems': True}\n\nOn instance:\n    ['A', 'A']",
  ],
  [
    {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 3, pattern: "^[A-Z]+$" },
      minItems: 1,
      uniqueItems: true,
    },
    '["abc"]',
    "'abc' does not match '^[A-Z]+$'\n\nFailed validating 'pattern' in schema['items']:\n    {'maxLength': 3,\n     'minLength': 1,\n     'pattern': '^[A-Z]+$',\n     'type': 'string'}\n\nOn instance[0]:\n    'abc'",
  ],
  [
    {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 3, pattern: "^[A-Z]+$" },
      minItems: 1,
      uniqueItems: true,
    },
    '["ABCD", 1]',
    "1 is not of type 'string'\n\nFailed validating 'type' in schema['items']:\n    {'maxLength': 3,\n     'minLength': 1,\n     'pattern': '^[A-Z]+$',\n     'type': 'string'}\n\nOn instance[1]:\n    1",
  ],
  [
    {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 3, pattern: "^[A-Z]+$" },
      minItems: 1,
      uniqueItems: true,
    },
    '"A"',
    "'A' is not of type 'array'\n\nFailed validating 'type' in schema:\n    {'items': {'maxLength': 3,\n               'minLength': 1,\n               'pattern': '^[A-Z]+$',\n               'type': 'string'},\n     'minItems': 1,\n     'type': 'array',\n     'uniqueItems': True}\n\nOn instance:\n    'A'",
  ],
  [
    {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 3, pattern: "^[A-Z]+$" },
      minItems: 1,
      uniqueItems: true,
    },
    '[""]',
    "'' is too short\n\nFailed validating 'minLength' in schema['items']:\n    {'maxLength': 3,\n     'minLength': 1,\n     'pattern': '^[A-Z]+$',\n     'type': 'string'}\n\nOn instance[0]:\n    ''",
  ],
  [
    {
      type: "object",
      minProperties: 1,
      patternProperties: { "^[A-Z]+$": { type: ["integer", "null"], minimum: 1 } },
      additionalProperties: false,
    },
    "{}",
    "{} does not have enough properties\n\nFailed validating 'minProperties' in schema:\n    {'additionalProperties': False,\n     'minProperties': 1,\n     'patternProperties': {'^[A-Z]+$': {'minimum': 1,\n                                        'type': ['integer', 'null']}},\n     'type': 'object'}\n\nOn instance:\n    {}",
  ],
  [
    {
      type: "object",
      minProperties: 1,
      patternProperties: { "^[A-Z]+$": { type: ["integer", "null"], minimum: 1 } },
      additionalProperties: false,
    },
    '{"a": 1}',
    "'a' does not match any of the regexes: '^[A-Z]+$'\n\nFailed validating 'additionalProperties' in schema:\n    {'additionalProperties': False,\n     'minProperties': 1,\n     'patternProperties': {'^[A-Z]+$': {'minimum': 1,\n                                        'type': ['integer', 'null']}},\n     'type': 'object'}\n\nOn instance:\n    {'a': 1}",
  ],
  [
    {
      type: "object",
      minProperties: 1,
      patternProperties: { "^[A-Z]+$": { type: ["integer", "null"], minimum: 1 } },
      additionalProperties: false,
    },
    '{"a": 1, "b": 2}',
    "'a', 'b' do not match any of the regexes: '^[A-Z]+$'\n\nFailed validating 'additionalProperties' in schema:\n    {'additionalProperties': False,\n     'minProperties': 1,\n     'patternProperties': {'^[A-Z]+$': {'minimum': 1,\n                                        'type': ['integer', 'null']}},\n     'type': 'object'}\n\nOn instance:\n    {'a': 1, 'b': 2}",
  ],
  [
    {
      type: "object",
      minProperties: 1,
      patternProperties: { "^[A-Z]+$": { type: ["integer", "null"], minimum: 1 } },
      additionalProperties: false,
    },
    '{"A": 0}',
    "0 is less than the minimum of 1\n\nFailed validating 'minimum' in schema['patternProperties']['^[A-Z]+$']:\n    {'minimum': 1, 'type': ['integer', 'null']}\n\nOn instance['A']:\n    0",
  ],
  [
    {
      type: "object",
      minProperties: 1,
      patternProperties: { "^[A-Z]+$": { type: ["integer", "null"], minimum: 1 } },
      additionalProperties: false,
    },
    '{"A": "x"}',
    "'x' is not of type 'integer', 'null'\n\nFailed validating 'type' in schema['patternProperties']['^[A-Z]+$']:\n    {'minimum': 1, 'type': ['integer', 'null']}\n\nOn instance['A']:\n    'x'",
  ],
  [
    { anyOf: [{ type: "string", pattern: "^x" }, { type: "null" }] },
    "1",
    "1 is not valid under any of the given schemas\n\nFailed validating 'anyOf' in schema:\n    {'anyOf': [{'pattern': '^x', 'type': 'string'}, {'type': 'null'}]}\n\nOn instance:\n    1",
  ],
  [
    { anyOf: [{ type: "string", pattern: "^x" }, { type: "null" }] },
    '"y"',
    "'y' does not match '^x'\n\nFailed validating 'pattern' in schema[0]:\n    {'pattern': '^x', 'type': 'string'}\n\nOn instance:\n    'y'",
  ],
  [{ anyOf: [{ type: "string", pattern: "^x" }, { type: "null" }] }, "null", null],
  [
    { anyOf: [{ type: "string", pattern: "^x" }, { type: "null" }] },
    '{"deep": [1, 2]}',
    "{'deep': [1, 2]} is not valid under any of the given schemas\n\nFailed validating 'anyOf' in schema:\n    {'anyOf': [{'pattern': '^x', 'type': 'string'}, {'type': 'null'}]}\n\nOn instance:\n    {'deep': [1, 2]}",
  ],
  [
    { type: "object", properties: { p: { type: "string", enum: ["none", "isolate"] } } },
    '{"p": "other"}',
    "'other' is not one of ['none', 'isolate']\n\nFailed validating 'enum' in schema['properties']['p']:\n    {'enum': ['none', 'isolate'], 'type': 'string'}\n\nOn instance['p']:\n    'other'",
  ],
  [
    { type: "object", properties: { p: { type: "string", enum: ["none", "isolate"] } } },
    '{"p": 1}',
    "1 is not of type 'string'\n\nFailed validating 'type' in schema['properties']['p']:\n    {'enum': ['none', 'isolate'], 'type': 'string'}\n\nOn instance['p']:\n    1",
  ],
  [{ type: "object", properties: { p: { type: "string", enum: ["none", "isolate"] } } }, '{"p": "none"}', null],
];
