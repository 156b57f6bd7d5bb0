/** Sends a request as the global `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Node's own `fetch`, for responses that users of the package receive unchanged. */
export const nodeFetch: Fetch = (url, init) => fetch(url, init);
