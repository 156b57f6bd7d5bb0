import type { ValidateFunction } from "ajv";
import type { TSchema } from "typebox";
import { InvalidParameters } from "../../conductor-client/errors.js";
import type { RemoteMethods } from "../../conductor-client/methods/method.js";
import { object } from "../../records/field.js";
import { FieldChecks, wrongField } from "./field-checks.js";

/**
 * Checks what the wire brings against a table of methods. Each schema is compiled when it is first needed, which keeps the
 * start fast.
 */
export class MethodChecks<T extends RemoteMethods> {
  readonly #checks = new FieldChecks();
  readonly #methods: T;
  readonly #params = new Map<keyof T, ValidateFunction>();
  readonly #results = new Map<keyof T, ValidateFunction>();

  constructor(methods: T) {
    this.#methods = methods;
  }

  /** @throws {InvalidParameters} naming the first field that is wrong, what was found and what was expected. */
  checkParams(method: keyof T & string, params: unknown): void {
    const validate = this.#compiled(this.#params, method, (entry) => object(entry.params));
    if (!validate(params)) {
      const { field, text } = wrongField(validate, "params");
      throw new InvalidParameters(`${method}: ${text}`, { field });
    }
  }

  /** Whether the value is a result of the method at all. */
  isResult(method: keyof T, value: unknown): boolean {
    return this.#compiled(this.#results, method, (entry) => entry.result)(value);
  }

  #compiled(
    known: Map<keyof T, ValidateFunction>,
    method: keyof T,
    schemaOf: (entry: T[keyof T]) => TSchema,
  ): ValidateFunction {
    const compiled = known.get(method) ?? this.#checks.compile(schemaOf(this.#methods[method]));
    known.set(method, compiled);
    return compiled;
  }
}
