import type { ListenLimits } from "./server.js";

/** The limits of {@link ListenLimits} that hold when the caller names none. */
export const DEFAULT_LISTEN_LIMITS: ListenLimits = Object.freeze({
  bodyBytes: 16 * 1024 * 1024,
  frameBytes: 4 * 1024 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connections: 20_000,
});

/** Largest frame in bytes that a socket opened by `Sockets.connect` takes. */
export const CLIENT_FRAME_BYTES = 64 * 1024 * 1024;

/** Milliseconds until {@link HttpTimeout} when a request names none. */
export const DEFAULT_HTTP_TIMEOUT = 60_000;

/** Milliseconds that `Listener.close` waits for running requests when the caller names none. */
export const DEFAULT_CLOSE_GRACE = 5_000;
