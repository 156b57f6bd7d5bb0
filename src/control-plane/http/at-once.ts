/** Goes on with a value at once where it is there: a promise that nobody has to wait for is a good part of a small request. */
export function atOnce<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
