/**
 * `enabled_import_methods`. `web-download` is not among them: this service fetches nothing from a network.
 */
export const IMPORT_METHODS = ["glance-direct", "copy-image", "glance-download"] as const;
