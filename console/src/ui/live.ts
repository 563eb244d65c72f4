/** Interval at which lists and states are read again: nothing on a page is older than 5 s. */
export const LIVE_MS = 4_000;
