/** Code that few need, loaded when it is first needed. */
export interface Modules {
  /**
   * @param load `() => import("./module.js")`
   * @throws what `load` throws
   */
  load<T>(load: () => Promise<T>): Promise<T>;
}
